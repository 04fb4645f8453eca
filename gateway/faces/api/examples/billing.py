"""An example to copy into a billing system. It needs nothing but Python 3.

As a program, with OPS_API and OPS_TOKEN in the environment:

  python3 billing.py subscribe ORDER NAME PLAN   makes a customer with a key
  python3 billing.py move CUSTOMER PLAN          moves it to another plan
  python3 billing.py portal CUSTOMER             makes a link to the portal, which works once: redirect the browser to it
  python3 billing.py use MONTH                   use of each customer, such as of 2026-11
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

API = os.environ.get("OPS_API", "http://localhost:9090")
TOKEN = os.environ.get("OPS_TOKEN", "")
MAX_ATTEMPTS = 5


def call(path, method="GET", body=None, idempotency_key=None):
    """The key is the same for each repetition of one order, so that it is executed once."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if idempotency_key is not None:
        headers["Idempotency-Key"] = f'"{idempotency_key}"'
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, headers, method=method)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        wait_seconds = attempt
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            # With one of these, or without a response, the request may be repeated: it is a GET, has a key, names its rev,
            # or makes a link.
            if error.code not in (429, 503) or attempt == MAX_ATTEMPTS:
                raise RuntimeError(f"{method} {path}: {error.read().decode()}") from None
            wait_seconds = int(error.headers.get("Retry-After", attempt))
        except OSError as error:
            if attempt == MAX_ATTEMPTS:
                raise RuntimeError(f"{method} {path}: {error}") from None
        time.sleep(wait_seconds)


def subscribe(order, name, plan):
    customer = call(
        "/api/customers",
        "POST",
        {"name": name, "plan": plan, "reference": order},
        f"customer {order}",
    )
    path = f"/api/customers/{customer['id']}/keys"
    key = call(path, "POST", {}, f"key {order}")["key"]
    print(json.dumps({"customer": customer["id"], "key": key}))


def move(customer, plan):
    """rev is that of the customer as it was read: if somebody else changes it in between, the response is 409."""
    path = f"/api/customers/{customer}"
    moved = call(path, "PATCH", {"rev": call(path)["rev"], "plan": plan})
    print(json.dumps({"customer": customer, "plan": moved["plan"]}))


def portal(customer):
    """Repeated, it is another link."""
    link = call(f"/api/customers/{customer}/link", "POST")["link"]
    print(json.dumps({"customer": customer, "link": link}))


def use(month):
    for customer in call(f"/api/usage/customers?month={month}")["items"]:
        # Units are there if an operation costs more than one.
        units = customer.get("units", customer["served"])
        print(json.dumps({"customer": customer["id"], "units": units}))


if __name__ == "__main__":
    command, *given = sys.argv[1:] or [""]
    commands = {"subscribe": subscribe, "move": move, "portal": portal, "use": use}
    run = commands.get(command)
    if run is None or len(given) != run.__code__.co_argcount:
        sys.exit(__doc__)
    try:
        run(*given)
    except RuntimeError as error:
        sys.exit(str(error))
