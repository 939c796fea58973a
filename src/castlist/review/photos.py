"""Questions from photos on the page: their routes, and the JSON that they return."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, HTTPException
from fastapi import Path as PathParameter
from fastapi.responses import Response

from castlist.cast.corrections import Corrections
from castlist.cast.photo_matches import open_matches, photo_matches
from castlist.cast.photos import load_photos, remove_photos
from castlist.errors import InputError
from castlist.review import views
from castlist.review.schemas import CHANGES, answers_of


def photos_view(corrections: Corrections) -> dict[str, Any]:
    """Return the questions from photos, most alike first; an error if there can be none."""
    error, people, asked = "", 0, []
    try:
        photos = load_photos(corrections.folder)
        if photos is not None:
            people = len(photos.people)
            asked = open_matches(corrections, photo_matches(corrections, photos))
    except InputError as refused:  # other questions are shown all the same
        error = str(refused)
    return {
        "last": corrections.version,
        "people": people,
        "error": error,
        "questions": [
            {
                "person": one.name, "photo": one.photo, "alike": round(one.alike, 3),
                **views.card(corrections, corrections.character(one.character)),
            }
            for one in asked
        ],
    }  # fmt: skip


def add_photo_routes(app: FastAPI, corrections: Corrections) -> None:
    """Add the routes of questions from photos."""

    @app.get("/api/photos")
    def asked() -> dict[str, Any]:
        with corrections.fresh():
            return photos_view(corrections)

    @app.post("/api/photos/remove", responses=CHANGES)
    def removed() -> dict[str, int]:
        remove_photos(corrections.folder)
        return {"people": 0}

    @app.get("/photos/{k}", response_class=Response, responses=answers_of("image/jpeg"))
    def photo(k: Annotated[int, PathParameter(ge=0)]) -> Response:
        photos = load_photos(corrections.folder)
        if photos is None or k >= len(photos.people):
            raise HTTPException(404)
        headers = {"cache-control": "no-store"}  # other photos have the same numbers
        return Response(photos.people[k].picture, media_type="image/jpeg", headers=headers)
