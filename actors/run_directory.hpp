// The folder of one running cluster: what `baton up` writes and every other command reads.
//
//   cluster.json         the cluster file with every default and port written out
//   run_id               random, names the shared memory of this start
//   up.pid               the supervisor, which holds a lock on it
//   <node>.trace.jsonl   the trace, one file a node;  <node>.log   what the node had to say
#pragma once

#include "protocol/cluster_config.hpp"
#include "protocol/outcome.hpp"

#include <string>

namespace baton::actors {

/// A whole file; bad_input names the path and the system's reason.
protocol::outcome<std::string> read_file(const std::string& path);
protocol::failure write_file(const std::string& path, const std::string& text);

/// Reads and checks a cluster file.
protocol::outcome<protocol::cluster_config> read_cluster(const std::string& path);

/// The cluster that `baton up` has written into a run directory, and the run_id of that start.
struct started_cluster {
  protocol::cluster_config cluster;
  std::string run_id;
};

/// For whoever wants to reach its router: bad_input also when that has no port.
protocol::outcome<started_cluster> read_started_cluster(const std::string& dir);

/// The cluster with a port for every node: those that are 0 are chosen among the free ones now.
/// bad_input names `file`, from which it was read, and the field.
protocol::outcome<protocol::cluster_config> with_ports(protocol::cluster_config cluster,
                                                       const std::string& file);

/// Name of the shared memory in which the ranks of a group meet. It is gone when all are in; a
/// start that was cut short may leave it.
std::string group_memory_name(const std::string& run_id, const protocol::group_name& group);

/// Port of a node in a configuration whose ports are all set.
std::uint16_t port_of(const protocol::cluster_config& cluster, const protocol::node_name& node);

/// Makes the folder and writes cluster.json and run_id. The last run's traces and logs are removed,
/// nothing else. Refused: duplicate while a cluster runs in it, bad_input when a cluster.json is in
/// it that no run has written.
protocol::failure make_run_directory(const std::string& dir,
                                     const protocol::cluster_config& cluster);

/// Makes this process the folder's supervisor for as long as the returned descriptor is open:
/// up.pid holds its number, under a lock that ends with the process, however it ends. duplicate
/// when another has it.
protocol::outcome<int> claim_run_directory(const std::string& dir);

/// The supervisor's process number, 0 when none runs there.
int running_supervisor(const std::string& dir);

} // namespace baton::actors
