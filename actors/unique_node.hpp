// CAF 0.17 derives a process's node id from disk and network addresses and the process number, so
// that containers and reused process numbers collide. This module gives each process a random one.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/node_id.hpp>
#include <random>
#include <unistd.h>

namespace baton::actors {

namespace node_access {
// An explicit instantiation may name a private member: the only way to set it in 0.17.
struct tag {
  using type = caf::node_id caf::actor_system::*;
  friend type member(tag);
};
template <class Tag, typename Tag::type Member>
struct grant_access {
  friend typename Tag::type member(Tag) { return Member; }
};
template struct grant_access<tag, &caf::actor_system::node_>;
} // namespace node_access

/// Load after the middleman: modules start in the order of their slots, and this one borrows the
/// slot of the OpenCL module, which Baton does not use.
class unique_node : public caf::actor_system::module {
public:
  explicit unique_node(caf::actor_system& system) : system_(system) {}

  void start() override {}
  void stop() override {}
  void init(caf::actor_system_config&) override {
    caf::node_id::default_data::host_id_type host;
    std::random_device draw;
    for (auto& byte : host)
      byte = static_cast<std::uint8_t>(draw());
    system_.*member(node_access::tag{})
      = caf::make_node_id(static_cast<std::uint32_t>(getpid()), host);
  }
  id_t id() const override { return opencl_manager; }
  void* subtype_ptr() override { return this; }

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new unique_node(system);
  }

private:
  caf::actor_system& system_;
};

} // namespace baton::actors
