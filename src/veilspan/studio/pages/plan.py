"""Plan: what each epsilon would teach, tell an attacker, and leave of the budget."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from veilspan._html import Html, tag
from veilspan.studio.as_text import plan_as_text
from veilspan.studio.asking import Asking, find_asking, refuse_others
from veilspan.studio.foreseen import Foreseen, foresee_points
from veilspan.studio.layout import address, as_text, card, form, heading, steps, void
from veilspan.studio.profiles import find_profile
from veilspan.studio.questions import METHODS
from veilspan.studio.visits import Visit, enter, form_route, page_route

#: Seconds between two looks at a simulation that runs.
LOOK = 0.4
#: Seconds after which a browser asks anew.
LONGEST = 120.0


def show_plan(visit: Visit) -> Response:
    """The slider with all that follows from it; moving it asks for nothing."""
    studio = visit.studio
    asking = find_asking(studio, visit.params["id"])
    refuse_others(asking, visit.session.person)
    if asking.request:
        return visit.go(address("r", asking.request))
    state = _state_of(visit, asking)
    seen = foresee_points(studio, asking, state)
    may = visit.session.may("analyst")
    controls = form(
        address("r", asking.id, "epsilon"),
        visit.session.csrf,
        _draw_slider(asking, seen),
        tag(
            "p",
            tag("button", "Continue to the charge", name="go", value="on"),
            tag("button", "Keep this epsilon", name="go", value="", class_="quiet"),
            tag("span", "Nothing is spent yet.", class_="help"),
            class_="actions",
        ) if may else None,
        id="plan",
    )  # fmt: skip
    back = f"{address('d', asking.dataset, 'ask')}?draft={asking.id}"
    return visit.page(
        f"Plan for {asking.dataset}",
        steps(2, [address("d", asking.dataset, "schema"), back]),
        heading(
            "How much privacy, how much noise?",
            over=f"{METHODS[asking.estimator].title} · {asking.dataset}",
            under="Epsilon is the privacy that a release spends. More of it means less noise, and "
            "an attacker who learns more. Both are shown below, before anything is spent.",
        ),
        card(controls, class_="first slider-card"),
        tag("div", draw_foresight(asking, seen, state), id="foresight"),
        _offer_profile(visit, asking) if may else None,
        _draw_plan(visit, asking),
        as_text(*plan_as_text(studio, asking)),
    )


def _draw_slider(asking: Asking, seen: Foreseen) -> Html:
    place = seen.nearest(asking.epsilon)
    offered = ""
    smallest = seen.smallest
    if smallest is not None:
        offered = tag(
            "button",
            f"Take the smallest that is good enough: {smallest:g}",
            type="button",
            class_="second",
            data_epsilon=smallest,
            hidden=True,
        )
    return tag(
        "div",
        tag(
            "div",
            tag("label", "Epsilon", for_="epsilon"),
            void("input", type="text", id="epsilon", name="epsilon", inputmode="decimal",
                 value=f"{asking.epsilon:g}", class_="epsilon"),
            tag("span", seen.grade(asking.epsilon), class_="grade " + seen.grade(asking.epsilon),
                id="grade"),
            class_="epsilon-box",
        ),
        void("input", type="range", id="slider", min=0, max=len(seen.epsilons) - 1, step=1,
             value=place, aria_label="Epsilon", hidden=True),
        offered or None,
        class_="slider",
        id="points",
        data_points=json.dumps(seen.to_points()),
        data_waiting="yes" if seen.waiting else None,
        data_place=address("r", asking.id),
    )  # fmt: skip


def draw_foresight(asking: Asking, seen: Foreseen, state: Any) -> Html:
    """The three cards under the slider: what is learned, what an attacker gains, what is left."""
    from veilspan.studio.foresight_cards import attacker_card, budget_card, utility_card

    return tag(
        "div",
        utility_card(asking, seen),
        attacker_card(asking, seen),
        budget_card(asking, seen, state),
        class_="trio",
    )


def _draw_plan(visit: Visit, asking: Asking) -> Html:
    plan = asking.plan(visit.studio)
    lines = str(plan).splitlines()
    return tag(
        "details",
        tag("summary", "The plan, word for word"),
        tag("pre", "\n".join(lines), tabindex="0", aria_label="The plan"),
        class_="card",
    )


def _offer_profile(visit: Visit, asking: Asking) -> Html | None:
    """The choice of simulated rows, where the dataset has a released profile."""
    found = find_profile(visit.studio, asking)
    if found is None:
        return None
    profile = f"the released profile of {asking.dataset} (epsilon {found.request.epsilon:g})"
    now = "Simulated rows are drawn over the whole range of each column."
    offer, value = f"Draw them like {profile}", "profile"
    if asking.like_profile:
        now = f"Simulated rows are drawn like {profile}. It is public and costs nothing."
        offer, value = "Draw them over whole ranges", ""
    button = tag("button", offer, name="like", value=value, class_="quiet")
    fields = tag("p", tag("span", now, class_="help"), button, class_="actions")
    return card(form(address("r", asking.id, "rows"), visit.session.csrf, fields))


def set_rows(visit: Visit) -> Response:
    """Keep in the draft which rows are simulated."""
    asking = find_asking(visit.studio, visit.params["id"])
    refuse_others(asking, visit.session.person)
    asking.save(visit.studio, like_profile=visit.text("like") == "profile")
    return visit.go(address("r", asking.id, "plan"))


def set_epsilon(visit: Visit) -> Response:
    """Keep the epsilon in the draft; go on to the exact charge if that was wanted."""
    studio = visit.studio
    asking = find_asking(studio, visit.params["id"])
    refuse_others(asking, visit.session.person)
    place = address("r", asking.id, "plan")
    if asking.request:
        return visit.go(address("r", asking.request))
    try:
        epsilon = float(visit.text("epsilon").replace(",", "."))
    except ValueError:
        return visit.go(place, "Epsilon is a number, 1 say.", "problem")
    if not math.isfinite(epsilon) or not 0 < epsilon <= 100:
        return visit.go(place, "Epsilon is a number above 0, and 100 at most.", "problem")
    try:
        asking.plan(studio, epsilon)
    except ValueError as error:
        return visit.go(place, str(error), "problem")
    if epsilon != asking.epsilon:
        asking.save(studio, epsilon=epsilon)
    if visit.text("go"):
        return visit.go(address("r", asking.id, "sign"))
    return visit.go(place, f"Epsilon {epsilon:g} is kept.")


def show_curves(visit: Visit) -> Response:
    """The cards alone, for a page that waited for the simulation."""
    asking = find_asking(visit.studio, visit.params["id"])
    refuse_others(asking, visit.session.person)
    state = _state_of(visit, asking)
    seen = foresee_points(visit.studio, asking, state)
    cards = draw_foresight(asking, seen, state)
    points = tag("div", data_points=json.dumps(seen.to_points()), data_smallest=seen.smallest)
    return HTMLResponse(f"{cards}{points}")


async def tell_simulation(request: Request) -> Response:
    """How far the simulation is, as server-sent events, until it is done."""
    visit = enter(request)
    asking = await run_in_threadpool(find_asking, visit.studio, request.path_params["id"])
    refuse_others(asking, visit.session.person)
    state = await run_in_threadpool(_state_of, visit, asking)

    async def events() -> AsyncIterator[str]:
        waited = 0.0
        while waited < LONGEST:
            told = await run_in_threadpool(visit.studio.foresight.progress, asking, state)
            yield f"data: {json.dumps(told)}\n\n"
            if told.get("done"):
                return
            await asyncio.sleep(LOOK)
            waited += LOOK

    return StreamingResponse(events(), headers={"content-type": "text/event-stream"})


def _state_of(visit: Visit, asking: Asking) -> Any:
    account = visit.studio.account(asking.dataset)
    return None if account is None else account.spent()


ROUTES = [
    page_route("/r/{id}/plan", show_plan),
    page_route("/r/{id}/curves", show_curves),
    form_route("/r/{id}/epsilon", set_epsilon, roles=("analyst",)),
    form_route("/r/{id}/rows", set_rows, roles=("analyst",)),
    Route("/r/{id}/simulation", tell_simulation, methods=["GET"]),
]
