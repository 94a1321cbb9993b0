"""A plugin in this very process, for tests of the pattern that asks one."""

from __future__ import annotations

import math

__all__ = ["GeoPlugin"]

_EARTH_KM = 6371.0


class GeoPlugin:
    """Knows one plugin, geo, with one method, near: is a place within so many kilometres?"""

    names = ("geo",)

    def ask(self, name: str, method: str, params: object) -> object:
        assert (name, method) == ("geo", "near")
        assert isinstance(params, dict)
        assert sorted(params) == ["actual", "expected", "path"]
        lat, lon, radius_km = map(float, params["expected"].split(","))
        place = _place(params["actual"])
        if place is None:
            return {"pass": False, "message": "that is no place"}
        away_km = _distance_km(place, (lat, lon))
        return {"pass": away_km <= radius_km, "message": f"{away_km:.1f} km away"}


def _place(value: object) -> tuple[float, float] | None:
    if not isinstance(value, dict):
        return None
    lat, lon = _angle(value.get("lat")), _angle(value.get("lon"))
    return None if lat is None or lon is None else (lat, lon)


def _angle(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -180 <= value <= 180 else None


def _distance_km(here: tuple[float, float], there: tuple[float, float]) -> float:
    """Along the surface, by the haversine of the angle between them."""
    (lat, lon), (other_lat, other_lon) = (map(math.radians, place) for place in (here, there))
    across = math.sin((other_lat - lat) / 2) ** 2
    along = math.cos(lat) * math.cos(other_lat) * math.sin((other_lon - lon) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(min(1.0, max(0.0, across + along))))
