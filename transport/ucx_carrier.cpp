#include "transport/ucx_carrier.hpp"

#include "transport/arena.hpp"
#include "transport/engine.hpp"
#include "transport/ucx.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace baton::transport {

using protocol::outcome;
using protocol::reason;

namespace {

constexpr unsigned frame_message = 1;
constexpr unsigned part_message = 2;
constexpr int progress_calls_max = 64;
constexpr std::chrono::seconds closing_patience{1};

failure channel_failure(ucs_status_t status) {
  return {reason::peer_lost, std::string("ucx: ") + ucs_status_string(status)};
}

class region_view final : public source_view {
public:
  explicit region_view(mapped_region region) : region_(std::move(region)) {}
  std::uint64_t bytes() const override { return region_.bytes(); }
  // The mapping keeps the memory, also after the source's death.
  const std::byte* begin_reading() override { return region_.base(); }
  void end_reading() override {}

private:
  mapped_region region_;
};

} // namespace

ucx_carrier::ucx_carrier(path_kind path, std::unique_ptr<ucx_worker> worker)
  : path_(path), worker_(std::move(worker)) {}

void ucx_carrier::attach(carrier_listener& listener) {
  listener_ = &listener;
  for (const unsigned id : {frame_message, part_message}) {
    ucp_am_handler_param_t param = {};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS
                       | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.flags = UCP_AM_FLAG_WHOLE_MSG;
    param.cb = id == frame_message ? on_frame : on_part;
    param.arg = this;
    ucp_worker_set_am_recv_handler(worker_->handle(), &param);
  }
}

/// Everything is force-closed; callbacks that have not come by then are given up with the worker.
ucx_carrier::~ucx_carrier() {
  while (!channels_.empty())
    close(channels_.begin()->first);
  const auto deadline = std::chrono::steady_clock::now() + closing_patience;
  while (!closings_.empty() && std::chrono::steady_clock::now() < deadline) {
    ucp_worker_progress(worker_->handle());
    finish_closings();
  }
  worker_.reset(); // before the frames and records that UCX may still point to
}

outcome<channel_id> ucx_carrier::open(const wire::descriptor& peer) {
  auto record = std::make_unique<channel_record>();
  record->owner = this;
  record->id = next_channel_++;
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
                      | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_error;
  params.err_handler.arg = record.get();
  const auto status = ucp_ep_create(worker_->handle(), &params, &record->ep);
  if (status != UCS_OK)
    return channel_failure(status);
  const channel_id id = record->id;
  channels_.emplace(id, std::move(record));
  return id;
}

void ucx_carrier::close(channel_id channel) {
  auto node = channels_.extract(channel);
  if (node.empty())
    return;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  // A status instead of a request means that it is closed; the record stays until then, since
  // callbacks may name it.
  void* request = ucp_ep_close_nbx(node.mapped()->ep, &param);
  node.mapped()->phase = channel_phase::failed;
  closings_.push_back({std::move(node.mapped()), UCS_PTR_IS_PTR(request) ? request : nullptr});
}

bool ucx_carrier::finish_closings() {
  bool any = false;
  for (auto at = closings_.begin(); at != closings_.end();) {
    if (at->request != nullptr && ucp_request_check_status(at->request) == UCS_INPROGRESS) {
      ++at;
      continue;
    }
    if (at->request != nullptr)
      ucp_request_free(at->request);
    at = closings_.erase(at);
    any = true;
  }
  return any;
}

outcome<std::unique_ptr<source_view>> ucx_carrier::view(const wire::descriptor& peer) {
  if (!peer.region)
    return failure{reason::unsupported, "connect: descriptor: no shared arena"};
  auto region = mapped_region::open(*peer.region);
  if (!region)
    return region.error();
  return std::unique_ptr<source_view>(new region_view(std::move(region.value())));
}

/// UCX has no query for this, so its own listing of the endpoint's lanes is read.
std::string ucx_carrier::path(channel_id channel) {
  char* text = nullptr;
  std::size_t size = 0;
  const auto at = channels_.find(channel);
  FILE* listing = at == channels_.end() ? nullptr : open_memstream(&text, &size);
  if (listing == nullptr)
    return to_string(path_);
  ucp_ep_print_info(at->second->ep, listing);
  std::fclose(listing);
  const std::string lanes(text, size);
  std::free(text);
  std::string found;
  for (const char* name : {"posix", "cma", "tcp"})
    if (lanes.find(std::string(":") + name + "/") != std::string::npos)
      found += (found.empty() ? " " : "/") + std::string(name);
  return to_string(path_) + found;
}

/// A rendezvous over CMA is the destination's process_vm_readv; over TCP both sides must work.
bool ucx_carrier::is_read_remotely(channel_id channel) {
  return path(channel).find("cma") != std::string::npos;
}

void ucx_carrier::send(channel_id channel, std::vector<std::byte> frame) {
  post(channel, frame_message, std::move(frame), nullptr, 0, UCP_AM_SEND_FLAG_EAGER, 0);
}

posting ucx_carrier::send_part(channel_id channel, std::vector<std::byte> frame,
                               const std::byte* bytes, std::uint64_t count, bool wait_for_reader,
                               std::uint64_t token) {
  return post(channel, part_message, std::move(frame), bytes, count,
              wait_for_reader ? UCP_AM_SEND_FLAG_RNDV : 0, token);
}

posting ucx_carrier::post(channel_id channel, unsigned message, std::vector<std::byte> frame,
                          const std::byte* bytes, std::uint64_t count, std::uint32_t flags,
                          std::uint64_t token) {
  const auto at = channels_.find(channel);
  if (at == channels_.end() || at->second->phase == channel_phase::failed)
    return posting::failed;
  auto context = std::make_unique<sending>(sending{this, token, std::move(frame)});
  ucp_request_param_t param = {};
  param.op_attr_mask
    = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.cb.send = on_sent;
  param.user_data = context.get();
  param.flags = flags;
  void* request = ucp_am_send_nbx(at->second->ep, message, context->frame.data(),
                                  context->frame.size(), bytes, count, &param);
  if (request == nullptr)
    return posting::done;
  if (UCS_PTR_IS_ERR(request)) {
    mark_failed(*at->second, UCS_PTR_STATUS(request));
    return posting::failed;
  }
  sending* const key = context.get();
  sendings_.emplace(key, std::move(context));
  return posting::pending;
}

void ucx_carrier::on_sent(void* request, ucs_status_t status, void* context) {
  ucp_request_free(request);
  auto* sent = static_cast<sending*>(context);
  ucx_carrier& self = *sent->owner;
  const std::uint64_t token = sent->token;
  self.sendings_.erase(sent);
  if (token != 0)
    self.listener_->part_sent(token, status == UCS_OK);
}

posting ucx_carrier::receive(void* handle, std::byte* to, std::uint64_t count,
                             std::uint64_t token) {
  auto context = std::make_unique<receiving>(receiving{this, token, count});
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = on_received;
  param.user_data = context.get();
  void* request = ucp_am_recv_data_nbx(worker_->handle(), handle, to, count, &param);
  if (request == nullptr)
    return posting::done;
  if (UCS_PTR_IS_ERR(request))
    return posting::failed;
  receiving* const key = context.get();
  receivings_.emplace(key, std::move(context));
  return posting::pending;
}

void ucx_carrier::on_received(void* request, ucs_status_t status, std::size_t size,
                              void* context) {
  ucp_request_free(request);
  auto* received = static_cast<receiving*>(context);
  ucx_carrier& self = *received->owner;
  const receiving done = *received;
  self.receivings_.erase(received);
  failure error;
  if (status == UCS_ERR_MESSAGE_TRUNCATED || (status == UCS_OK && size != done.bytes))
    error = {reason::corrupt, "offer: received " + std::to_string(size) + " of "
                                + std::to_string(done.bytes) + " bytes"};
  else if (status != UCS_OK)
    error = channel_failure(status);
  self.listener_->part_received(done.token, error);
}

void ucx_carrier::drop(void* handle) {
  if (handle == handled_)
    handled_dropped_ = true;
  else
    ucp_am_data_release(worker_->handle(), handle);
}

ucs_status_t ucx_carrier::on_frame(void* self, const void* header, std::size_t header_size, void*,
                                   std::size_t, const ucp_am_recv_param_t*) {
  static_cast<ucx_carrier*>(self)->listener_->frame_arrived(
    static_cast<const std::byte*>(header), header_size);
  return UCS_OK;
}

ucs_status_t ucx_carrier::on_part(void* carrier, const void* header, std::size_t header_size,
                                  void* data, std::size_t size,
                                  const ucp_am_recv_param_t* param) {
  ucx_carrier& self = *static_cast<ucx_carrier*>(carrier);
  const auto* frame = static_cast<const std::byte*>(header);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    self.listener_->part_arrived(frame, header_size,
                                 {eager_bytes{static_cast<const std::byte*>(data)}, size});
    return UCS_OK;
  }
  self.handled_ = data;
  self.handled_dropped_ = false;
  self.listener_->part_arrived(frame, header_size, {waiting_bytes{data}, size});
  self.handled_ = nullptr;
  // UCS_OK without a receive turns the sender away: 0 bytes land.
  return self.handled_dropped_ ? UCS_OK : UCS_INPROGRESS;
}

void ucx_carrier::on_error(void* record, ucp_ep_h, ucs_status_t status) {
  auto* channel = static_cast<channel_record*>(record);
  channel->owner->mark_failed(*channel, status);
}

/// Closing inside the callback would complete operations twice; the engine's loop does it.
void ucx_carrier::mark_failed(channel_record& channel, ucs_status_t status) {
  if (channel.phase == channel_phase::failed)
    return;
  channel.phase = channel_phase::failed;
  listener_->channel_failed(channel.id, channel_failure(status));
}

bool ucx_carrier::progress() {
  int calls = 0;
  while (calls < progress_calls_max && ucp_worker_progress(worker_->handle()) != 0)
    ++calls;
  return finish_closings() || calls > 0;
}

outcome<std::unique_ptr<endpoint>> make_ucx(path_kind path, incarnation life, arena& memory,
                                            const endpoint_limits& limits, transfer_sink sink,
                                            integrity check) {
  if (failure f = check_limits(limits))
    return f;
  if (path == path_kind::loopback)
    return failure{reason::bad_input, "ucx: path: loopback is not one of its paths"};
  if (path == path_kind::shared_arena && !memory.region())
    return failure{reason::bad_input, "ucx: memory: a shared arena is required"};
  if (failure f = check_ucx_environment())
    return f;
  auto worker = ucx_worker::create();
  if (!worker)
    return worker.error();
  auto way = std::make_unique<ucx_carrier>(path, std::move(worker.value()));
  return std::unique_ptr<endpoint>(
    new engine({path, life, &memory, limits, check, std::move(sink)}, std::move(way)));
}

} // namespace baton::transport
