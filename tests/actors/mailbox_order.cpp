// For the thread sanitizer, which does not see into CAF's library: what CAF guarantees of a mailbox
// and of a reference count. All else that the program does is judged as it is, also what happens
// inside of CAF's workers.
//
//   whoever enqueues ──before──▶ the handling of that message, or its being thrown away at the end
//   each release of an actor ──before──▶ its destruction
//
// The library calls both through its symbol table, and finds these definitions first.
#include <caf/actor_control_block.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scheduled_actor.hpp>
#include <dlfcn.h>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace {

/// CAF's own definition of what this file defines again.
template <class Function>
Function* next_definition(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

} // namespace

namespace caf {

void scheduled_actor::enqueue(mailbox_element_ptr element, execution_unit* unit) {
  using function = void(scheduled_actor*, mailbox_element_ptr, execution_unit*);
  static function* const caf_enqueue = next_definition<function>(
    "_ZN3caf15scheduled_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEE"
    "PNS_14execution_unitE");
  __tsan_release(this);
  caf_enqueue(this, std::move(element), unit);
}

scheduled_actor::activation_result scheduled_actor::reactivate(mailbox_element& element) {
  using function = activation_result(scheduled_actor*, mailbox_element&);
  static function* const caf_reactivate = next_definition<function>(
    "_ZN3caf15scheduled_actor10reactivateERNS_15mailbox_elementE");
  __tsan_acquire(this);
  return caf_reactivate(this, element);
}

void blocking_actor::enqueue(mailbox_element_ptr element, execution_unit* unit) {
  using function = void(blocking_actor*, mailbox_element_ptr, execution_unit*);
  static function* const caf_enqueue = next_definition<function>(
    "_ZN3caf14blocking_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEE"
    "PNS_14execution_unitE");
  __tsan_release(this);
  caf_enqueue(this, std::move(element), unit);
}

intrusive::task_result blocking_actor::mailbox_visitor::operator()(mailbox_element& element) {
  using function = intrusive::task_result(mailbox_visitor*, mailbox_element&);
  static function* const caf_visit = next_definition<function>(
    "_ZN3caf14blocking_actor15mailbox_visitorclERNS_15mailbox_elementE");
  __tsan_acquire(self);
  return caf_visit(this, element);
}

bool scheduled_actor::cleanup(error&& why, execution_unit* unit) {
  using function = bool(scheduled_actor*, error&&, execution_unit*);
  static function* const caf_cleanup = next_definition<function>(
    "_ZN3caf15scheduled_actor7cleanupEONS_5errorEPNS_14execution_unitE");
  __tsan_acquire(this);
  return caf_cleanup(this, std::move(why), unit);
}

bool blocking_actor::cleanup(error&& why, execution_unit* unit) {
  using function = bool(blocking_actor*, error&&, execution_unit*);
  static function* const caf_cleanup = next_definition<function>(
    "_ZN3caf14blocking_actor7cleanupEONS_5errorEPNS_14execution_unitE");
  __tsan_acquire(this);
  return caf_cleanup(this, std::move(why), unit);
}

void intrusive_ptr_release(actor_control_block* counted) {
  using function = void(actor_control_block*);
  static function* const caf_release
    = next_definition<function>("_ZN3caf21intrusive_ptr_releaseEPNS_19actor_control_blockE");
  __tsan_release(counted);
  __tsan_acquire(counted); // this one may be the last
  caf_release(counted);
}

} // namespace caf
