#include "actors/shell.hpp"

#include "protocol/assert.hpp"

#include <exception>

namespace baton::actors {

void report_thrown(const std::string& actor, const std::exception_ptr& thrown) {
  std::string what = actor + " threw: ";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    what += e.what();
  } catch (...) {
    what += "something that is not an exception";
  }
  protocol::assertion_failed(what.c_str(), __FILE__, __LINE__);
}

} // namespace baton::actors
