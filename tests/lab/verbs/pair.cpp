#include "tests/lab/verbs/pair.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace stria::lab {
namespace {

constexpr int kDepth = 64;

/// Setup that fails ends the test with the step and the reason.
void must(bool good, const char* step) {
  if (!good) throw std::runtime_error(std::string(step) + ": " + std::strerror(errno));
}

sockaddr_in here(std::uint16_t port_in_network_order) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port_in_network_order;
  const char* text = std::getenv("STRIA_LAB_ADDRESS");
  must(text != nullptr && inet_pton(AF_INET, text, &address.sin_addr) == 1,
       "STRIA_LAB_ADDRESS, set in a guest of tools/lab");
  return address;
}

}  // namespace

rdma_conn_param connection_parameters() {
  rdma_conn_param given{};
  given.responder_resources = 8;
  given.initiator_depth = 8;
  given.retry_count = 6;
  given.rnr_retry_count = 7;
  return given;
}

Region::Region(ibv_pd* domain, std::size_t bytes, int access, std::byte fill)
    : memory_(bytes, fill), registered_(ibv_reg_mr(domain, memory_.data(), bytes, access)) {
  must(registered_ != nullptr, "ibv_reg_mr");
}

Region::~Region() {
  if (registered_ != nullptr) ibv_dereg_mr(registered_);
}

bool Region::is_all(std::byte value) const {
  return std::all_of(memory_.begin(), memory_.end(), [value](std::byte b) { return b == value; });
}

int Region::deregister() {
  const int refused = ibv_dereg_mr(registered_);
  if (refused == 0) registered_ = nullptr;
  return refused;
}

End::End(rdma_cm_id* id, const Options& options, ibv_srq* shared)
    : id_(id),
      send_channel_(ibv_create_comp_channel(id->verbs)),
      receive_channel_(ibv_create_comp_channel(id->verbs)) {
  must(send_channel_ != nullptr && receive_channel_ != nullptr, "ibv_create_comp_channel");
  send_queue_ = ibv_create_cq(id->verbs, kDepth, nullptr, send_channel_, 0);
  receive_queue_ = ibv_create_cq(id->verbs, kDepth, nullptr, receive_channel_, 0);
  must(send_queue_ != nullptr && receive_queue_ != nullptr, "ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = send_queue_;
  wanted.recv_cq = receive_queue_;
  wanted.srq = shared;
  wanted.sq_sig_all = 0;
  wanted.cap = {kDepth, shared == nullptr ? kDepth : 0u, options.max_sge, 1, options.inline_bytes};
  must(rdma_create_qp(id, id->pd, &wanted) == 0, "rdma_create_qp");
}

End::~End() {
  rdma_destroy_qp(id_);
  rdma_destroy_id(id_);
  ibv_destroy_cq(send_queue_);
  ibv_destroy_cq(receive_queue_);
  ibv_destroy_comp_channel(send_channel_);
  ibv_destroy_comp_channel(receive_channel_);
}

int End::post(ibv_send_wr& request) {
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(qp(), &request, &refused);
}

int End::post_receive(const ibv_sge& where) {
  ibv_sge piece = where;
  ibv_recv_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  if (qp()->srq != nullptr) return ibv_post_srq_recv(qp()->srq, &request, &refused);
  return ibv_post_recv(qp(), &request, &refused);
}

namespace {
ibv_send_wr request_of(ibv_wr_opcode opcode, ibv_sge& piece, unsigned flags) {
  ibv_send_wr request{};
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED | flags;
  request.sg_list = &piece;
  request.num_sge = 1;
  return request;
}
}  // namespace

int End::read(const ibv_sge& into, std::uint64_t address, std::uint32_t rkey) {
  ibv_sge piece = into;
  ibv_send_wr request = request_of(IBV_WR_RDMA_READ, piece, 0);
  request.wr.rdma = {address, rkey};
  return post(request);
}

int End::write(const ibv_sge& from, std::uint64_t address, std::uint32_t rkey) {
  ibv_sge piece = from;
  ibv_send_wr request = request_of(IBV_WR_RDMA_WRITE, piece, 0);
  request.wr.rdma = {address, rkey};
  return post(request);
}

int End::send(const ibv_sge& from, unsigned flags) {
  ibv_sge piece = from;
  ibv_send_wr request = request_of(IBV_WR_SEND, piece, flags);
  return post(request);
}

int End::send_invalidating(const ibv_sge& from, std::uint32_t rkey) {
  ibv_sge piece = from;
  ibv_send_wr request = request_of(IBV_WR_SEND_WITH_INV, piece, 0);
  request.invalidate_rkey = rkey;
  request.wr.rdma.rkey = rkey;  // where siw's library takes it from
  return post(request);
}

int End::invalidate(std::uint32_t rkey) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_LOCAL_INV;
  request.send_flags = IBV_SEND_SIGNALED;
  request.invalidate_rkey = rkey;
  return post(request);
}

Ended End::next(ibv_cq* queue, ibv_comp_channel* channel, int patience_ms) {
  for (;;) {
    ibv_wc got{};
    if (ibv_poll_cq(queue, 1, &got) == 1) {
      return {got.status, got.opcode, got.byte_len, ntohl(got.imm_data), got.invalidated_rkey, got.wc_flags};
    }
    // Armed before the second look: what completes in between wakes the channel.
    ibv_req_notify_cq(queue, 0);
    if (ibv_poll_cq(queue, 1, &got) == 1) {
      return {got.status, got.opcode, got.byte_len, ntohl(got.imm_data), got.invalidated_rkey, got.wc_flags};
    }
    pollfd waiting{channel->fd, POLLIN, 0};
    if (poll(&waiting, 1, patience_ms) <= 0) return {};
    ibv_cq* which = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel, &which, &context) == 0) ibv_ack_cq_events(which, 1);
  }
}

Pair::Pair(const Options& options) : events_(rdma_create_event_channel()) {
  must(events_ != nullptr, "rdma_create_event_channel");
  // An iWARP device listens by TCP, where an ordinary socket may have the port that the connection manager
  // picks.
  for (int ports = 1;; ++ports) {
    must(rdma_create_id(events_, &listener_, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    sockaddr_in address = here(0);
    must(rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&address)) == 0, "rdma_bind_addr");
    if (rdma_listen(listener_, 1) == 0) break;
    must(errno == EADDRINUSE && ports < 64, "rdma_listen");
    rdma_destroy_id(listener_);
  }
  domain_ = listener_->pd;
  if (options.shared_receives) {
    ibv_srq_init_attr wanted{};
    wanted.attr = {kDepth, 1, 0};
    shared_ = ibv_create_srq(domain_, &wanted);
    must(shared_ != nullptr, "ibv_create_srq");
  }
  rdma_cm_id* asking = nullptr;
  must(rdma_create_id(events_, &asking, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  sockaddr_in target = here(rdma_get_src_port(listener_));
  must(rdma_resolve_addr(asking, nullptr, reinterpret_cast<sockaddr*>(&target), kPatienceMs) == 0,
       "rdma_resolve_addr");
  rdma_conn_param given = connection_parameters();
  for (int established = 0; established < 2;) {
    pollfd waiting{events_->fd, POLLIN, 0};
    rdma_cm_event* event = nullptr;
    must(poll(&waiting, 1, kPatienceMs) > 0 && rdma_get_cm_event(events_, &event) == 0, "rdma_get_cm_event");
    const rdma_cm_event_type what = event->event;
    rdma_cm_id* id = event->id;
    rdma_ack_cm_event(event);
    switch (what) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        must(rdma_resolve_route(id, kPatienceMs) == 0, "rdma_resolve_route");
        break;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        a_ = std::make_unique<End>(id, options, shared_);
        must(rdma_connect(id, &given) == 0, "rdma_connect");
        break;
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        b_ = std::make_unique<End>(id, options, shared_);
        must(rdma_accept(id, &given) == 0, "rdma_accept");
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
        ++established;
        break;
      default:
        throw std::runtime_error(std::string("connecting: ") + rdma_event_str(what));
    }
  }
}

Pair::~Pair() {
  a_.reset();
  b_.reset();
  if (shared_ != nullptr) ibv_destroy_srq(shared_);
  rdma_destroy_id(listener_);
  rdma_destroy_event_channel(events_);
}

Window::Window(ibv_pd* domain) : window_(ibv_alloc_mw(domain, IBV_MW_TYPE_2)) {
  must(window_ != nullptr, "ibv_alloc_mw");
}

Window::~Window() {
  ibv_dealloc_mw(window_);
}

ibv_send_wr Window::request(Region& region, std::size_t offset, std::size_t bytes, int access) const {
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = window_;
  request.bind_mw.rkey = ibv_inc_rkey(window_->rkey);
  request.bind_mw.bind_info = {region.mr(), region.address() + offset, bytes, static_cast<unsigned>(access)};
  return request;
}

// The library does not do this for a posted bind, and refuses the next one of a window whose key it does not
// know.
void Window::bound_by(const ibv_send_wr& request) {
  window_->rkey = request.bind_mw.rkey;
}

int Window::bind(End& end, Region& region, std::size_t offset, std::size_t bytes, int access) {
  ibv_send_wr wanted = request(region, offset, bytes, access);
  const int refused = end.post(wanted);
  if (refused == 0) bound_by(wanted);
  return refused;
}

const Device& device() {
  static const Device known = [] {
    Pair pair;
    Device found;
    found.iwarp = pair.device()->device->transport_type == IBV_TRANSPORT_IWARP;
    must(ibv_query_device(pair.device(), &found.attributes) == 0, "ibv_query_device");
    return found;
  }();
  return known;
}

}  // namespace stria::lab
