// What a client sends to itself. Nothing here crosses a process border.
#pragma once

#include "protocol/ids.hpp"

#include <cstdint>

namespace baton::protocol {

enum class client_alarm : std::uint8_t {
  connect,       ///< try again to reach the router
  connect_over,  ///< the router was not reached in time
  submit,        ///< a request is due
  cancel,        ///< of `request`
  progress,      ///< tell how far the run is
  timeout,       ///< the script's own
  interrupt,     ///< a person wants the run to end
  wind_up_over,  ///< cancelled requests had their time to end
  status_due,    ///< ask every node again
  status_silent, ///< round `number` is not answered yet
  settle_over,   ///< the cluster had its time to free everything
};

struct alarm_due {
  client_alarm what = client_alarm::submit;
  external_id request;
  std::uint64_t number = 0;

  static constexpr const char* type = "alarm_due";
  template <class S>
  static auto fields(S& s) {
    return std::make_tuple(field("what", s.what), field("request", s.request),
                           field("number", s.number));
  }
};

} // namespace baton::protocol
