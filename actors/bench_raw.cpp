#include "actors/bench_raw.hpp"

#include "actors/bench_pipe.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace baton::actors::bench {

namespace {

constexpr unsigned block_message = 1;

[[noreturn]] void give_up(const std::string& call, ucs_status_t status) {
  bench::give_up("raw link: " + call + ": " + ucs_status_string(status));
}

} // namespace

raw_link::raw_link() {
  auto worker = transport::ucx_worker::create();
  if (!worker)
    bench::give_up("raw link: " + worker.error().text);
  worker_ = std::move(worker.value());
  ucp_am_handler_param_t param = {};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS
                     | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = block_message;
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = arrived;
  param.arg = this;
  ucp_worker_set_am_recv_handler(worker_->handle(), &param);
}

raw_link::~raw_link() = default;

void raw_link::connect(const std::vector<std::byte>& peer) {
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER; // as the product: it decides the transports
  if (const auto s = ucp_ep_create(worker_->handle(), &params, &peer_); s != UCS_OK)
    give_up("ucp_ep_create", s);
}

void raw_link::wait() {
  if (ucp_worker_progress(worker_->handle()) == 0)
    worker_->sleep(1000);
}

void raw_link::send(const block_list& blocks) {
  std::vector<std::uint32_t> headers(blocks.order.size());
  for (std::uint32_t i = 0; i < headers.size(); ++i) {
    while (under_way_ >= window)
      wait();
    headers[i] = i;
    ucp_request_param_t param = {};
    param.op_attr_mask
      = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.cb.send = sent;
    param.user_data = this;
    param.flags = UCP_AM_SEND_FLAG_RNDV;
    void* request = ucp_am_send_nbx(peer_, block_message, &headers[i], sizeof headers[i],
                                    blocks.base + blocks.order[i] * blocks.block_bytes,
                                    blocks.block_bytes, &param);
    if (UCS_PTR_IS_ERR(request))
      give_up("ucp_am_send_nbx", UCS_PTR_STATUS(request));
    under_way_ += request != nullptr ? 1 : 0;
  }
  while (under_way_ > 0)
    wait();
}

void raw_link::sent(void* request, ucs_status_t status, void* self) {
  ucp_request_free(request);
  if (status != UCS_OK)
    give_up("send", status);
  --static_cast<raw_link*>(self)->under_way_;
}

void raw_link::receive(const block_list& blocks) {
  landed_ = 0;
  into_ = &blocks;
  for (const early& e : std::exchange(early_, {}))
    post_receive(e.index, e.data, e.size);
  while (landed_ < blocks.order.size())
    wait();
  into_ = nullptr;
}

ucs_status_t raw_link::arrived(void* link, const void* header, std::size_t, void* data,
                               std::size_t size, const ucp_am_recv_param_t*) {
  raw_link& self = *static_cast<raw_link*>(link);
  std::uint32_t index = 0;
  std::memcpy(&index, header, sizeof index);
  if (self.into_ == nullptr)
    self.early_.push_back({index, data, size});
  else
    self.post_receive(index, data, size);
  return UCS_INPROGRESS;
}

void raw_link::post_receive(std::uint32_t index, void* data, std::size_t size) {
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = received;
  param.user_data = this;
  void* request
    = ucp_am_recv_data_nbx(worker_->handle(), data,
                           into_->base + into_->order.at(index) * into_->block_bytes, size, &param);
  if (UCS_PTR_IS_ERR(request))
    give_up("ucp_am_recv_data_nbx", UCS_PTR_STATUS(request));
  landed_ += request == nullptr ? 1 : 0;
}

void raw_link::received(void* request, ucs_status_t status, std::size_t, void* self) {
  ucp_request_free(request);
  if (status != UCS_OK)
    give_up("receive", status);
  ++static_cast<raw_link*>(self)->landed_;
}

} // namespace baton::actors::bench
