// SPDX-License-Identifier: BSD-2-Clause
/*
 * orders.cpp - an order book in C++: objects in a pool that lasts as long as the book, handles that
 * clients keep, and a loop over what is live.
 *
 * Clients know their orders by handles.  An order that was filled is destroyed, and a client who
 * cancels it too late has a handle that is stale, also if its slot has the next order by then.  In
 * the evening the book is moved into the archive, with the orders that are left, and with their
 * handles.
 *
 *     c++ orders.cpp $(pkg-config --cflags --libs cpool)
 */
#include <cpool/live.hpp>
#include <cpool/pool.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

struct order {
    order(std::string whose, int at, int pieces)
        : client(std::move(whose)), price(at), quantity(pieces)
    {
    }

    std::string client;
    int price;
    int quantity;
};

class book {
public:
    explicit book(std::size_t most) : orders_(settings(most)), by_price_() {}

    // An empty handle if the book has no room.
    cpool::handle<order> offer(const std::string &client, int price, int quantity)
    {
        order *one = orders_.create(client, price, quantity);

        if (one == nullptr)
            return cpool::handle<order>();
        by_price_[price].push_back(orders_.handle_of(one));
        return orders_.handle_of(one);
    }

    // False if it has been filled.
    bool cancel(cpool::handle<order> handle)
    {
        order *one = orders_.resolve(handle);

        orders_.destroy(one);
        return one != nullptr;
    }

    // Buys up to so many pieces, the cheapest first, and returns what they cost.
    int buy(int quantity)
    {
        int cost = 0;

        for (auto &level : by_price_)
            for (cpool::handle<order> handle : level.second) {
                order *one = orders_.resolve(handle); // nullptr: cancelled, or filled before
                if (one == nullptr)
                    continue;
                int pieces = std::min(quantity, one->quantity);
                cost += pieces * level.first;
                quantity -= pieces;
                one->quantity -= pieces;
                if (one->quantity == 0)
                    orders_.destroy(one);
            }
        return cost;
    }

    void print(const char *title) const
    {
        std::printf("%s: %zu of %zu orders are open\n", title, orders_.stats().live,
                    orders_.stats().capacity);
        for (const order &one : orders_.live())
            std::printf("  %s: %d at %d\n", one.client.c_str(), one.quantity, one.price);
    }

    bool is_open() const noexcept { return orders_.is_open(); }

private:
    // The pool must know which slots are live, for handles and loops.
    static cpool_config_t settings(std::size_t most)
    {
        cpool_config_t config = cpool::pool<order>::configuration(most);

        config.name = "orders";
        config.flags = CPOOL_TRACKED;
        return config;
    }

    cpool::pool<order> orders_; // whose destructor destroys the orders that are left
    std::map<int, std::vector<cpool::handle<order>>> by_price_;
};

} // namespace

int main()
{
    book today(4);
    cpool::handle<order> anna = today.offer("Anna", 12, 100);
    cpool::handle<order> bo = today.offer("Bo", 10, 50);

    (void)today.offer("Cem", 11, 30);
    (void)today.offer("Dana", 15, 20);
    std::printf("Eve's order %s\n", today.offer("Eve", 9, 1) ? "is in the book" : "finds no room");
    today.print("morning");

    std::printf("70 pieces cost %d\n", today.buy(70));
    std::printf("Bo cancels %s\n", today.cancel(bo) ? "in time" : "too late");
    std::printf("Anna cancels %s\n", today.cancel(anna) ? "in time" : "too late");
    std::printf("Eve's order %s\n", today.offer("Eve", 9, 1) ? "is in the book" : "finds no room");
    std::printf("Bo cancels %s\n", today.cancel(bo) ? "in time" : "too late");

    book archive(std::move(today));
    archive.print("evening");
    if (!today.is_open())
        std::puts("no more orders today");
    return 0;
}
