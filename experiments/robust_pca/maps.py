"""The picture of Figure 3: people by their two components, coloured by where they live."""

import numpy as np

from ..style import NOT_PRIVATE, panels, title
from .common import EPSILON, short


def onto_map(points, place):
    """Shift, turn, mirror and scale points to lie best on the places."""
    x, y = points - points.mean(axis=0), place - place.mean(axis=0)
    left, values, right = np.linalg.svd(x.T @ y)
    return values.sum() / np.sum(x**2) * x @ left @ right


def corner_colours(place):
    """A colour that follows the place: four corners, blended."""
    corners = np.array([[[0, 114, 178], [0, 158, 115]], [[204, 121, 167], [230, 120, 0]]]) / 255
    ranks = np.argsort(np.argsort(place, axis=0), axis=0) / (len(place) - 1)
    east, north = ranks[:, :1], ranks[:, 1:]
    top = (1 - east) * corners[0, 0] + east * corners[0, 1]
    bottom = (1 - east) * corners[1, 0] + east * corners[1, 1]
    return north * top + (1 - north) * bottom


def draw_maps(job, people, shown, own, match, true, n_loci, n_scores):
    """Maps at all loci (two rows: the truth and what is printed) and on public scores."""
    costs = {
        "dp-PCA printed (Wishart)": "not private",
        "dp-GGD printed": f"steps ε = {short(true['GGD'])}, start not private",
        "dp-SGGD printed": f"steps ε = {short(true['SGGD'])}",
    }
    figure, axes = panels(4, 3, width=2.45, height=2.35)
    colours = corner_colours(people.place)
    draw_points(axes[0][0], people.place, people.place, colours, size=8)
    axes[0][0].set_title("where they live\n", fontsize=9)
    for ax, (name, points) in zip(axes.flat[1:], {**shown, **own}.items(), strict=True):
        draw_points(ax, points, people.place, colours, size=4)
        cost = f"\n{costs[name]}" if name in costs else "\n"
        ax.set_title(f"{name}, ρ = {match[name]:.2f}{cost}", fontsize=8.5,
                     color=NOT_PRIVATE if name in costs else "black")  # fmt: skip
    for i, words in enumerate([f"{n_loci:,} loci"] * 2 + [f"{n_scores} public scores"] * 2):
        axes[i][0].set_ylabel(words)
    title(
        figure,
        f"Fig. 3: {people.source}, {len(people.place):,} of {len(people.counts):,} people; colour "
        f"is where they live. ε = {EPSILON}, δ = 1/√N unless said. Red: not private. ρ: "
        "correlation with the map",
    )
    job.picture(figure)


def draw_points(ax, points, place, colours, size):
    shown = onto_map(points, place)
    # Many people share the place that stands for their country. A picture of points, in SVG too.
    ax.scatter(*shown.T, s=size, c=colours, linewidths=0, rasterized=True)
    reach = np.percentile(np.abs(shown), 99.5, axis=0) * 1.15
    ax.set_xlim(-reach[0], reach[0])
    ax.set_ylim(-reach[1], reach[1])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
