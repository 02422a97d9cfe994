#include "transport/verbs/links.hpp"

#include <utility>

namespace stria::verbs {

Link& Links::keep(std::unique_ptr<Link> link) {
  link->place = all_.size();
  all_.push_back(std::move(link));
  return *all_.back();
}

Link& Links::add(Shared& shared, std::uint64_t worker) {
  Link& link = keep(std::make_unique<Link>(shared, worker));
  try {
    by_worker_[worker] = &link;
  } catch (...) {
    all_.pop_back();
    throw;
  }
  return link;
}

Link& Links::add_echo(Shared& shared, Link& near) {
  Link& link = keep(std::make_unique<Link>(shared, near.worker()));
  near.set_echo(link);
  return link;
}

void Links::attach(Link& link, Connection& connection) {
  by_queue_pair_[connection.id->qp->qp_num] = &link;
  by_number_[connection.number.number] = &link;
  link.attach(connection);
}

std::unique_ptr<Link> Links::remove(Link& link) noexcept {
  if (link.is_attached()) {
    by_number_[link.number().number] = nullptr;
    by_queue_pair_.erase(link.queue().queue_pair_number());
  }
  const auto known = by_worker_.find(link.worker());
  if (known != by_worker_.end() && known->second == &link) by_worker_.erase(known);
  link.part();
  std::unique_ptr<Link> out = std::move(all_[link.place]);
  if (link.place + 1 != all_.size()) {
    all_[link.place] = std::move(all_.back());
    all_[link.place]->place = link.place;
  }
  all_.pop_back();
  return out;
}

}  // namespace stria::verbs
