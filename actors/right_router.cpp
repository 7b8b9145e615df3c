#include "actors/right_router.hpp"

namespace baton::actors {

using namespace protocol;

failure check_router(const node_context& asker, const std::string& where, const router_is& said,
                     const handle& router) {
  const std::string& name = asker.cluster.name;
  if (said.cluster != name)
    return {reason::bad_input, where + " is cluster '" + said.cluster + "', not '" + name + "'"};
  if (said.run_id != asker.run_id)
    return {reason::bad_input, where + " is another run of cluster '" + name + "' (run_id "
                                 + said.run_id + ") than this run directory's (run_id "
                                 + asker.run_id + "): is the cluster of this directory up?"};
  if (!router)
    return {reason::internal, where + " has no router"};
  return {};
}

} // namespace baton::actors
