window.BENCHMARK_DATA = {
  "lastUpdate": 1767268800000,
  "repoUrl": "https://example.org/kiln",
  "entries": {
    "Rust": [
      {
        "commit": { "id": "0a1b2c3d", "message": "glaze: {fewer} copies", "timestamp": "2026-01-01T11:00:00Z" },
        "date": 1767265200000,
        "tool": "cargo",
        "benches": [
          { "name": "fire", "value": 1050, "range": "± 40", "unit": "ns/iter" }
        ]
      },
      {
        "commit": { "id": "4e5f6071", "message": "newer", "timestamp": "2026-01-01T12:00:00Z" },
        "date": 1767268800000,
        "tool": "cargo",
        "benches": [
          { "name": "fire", "value": 1042, "range": "± 37", "unit": "ns/iter" },
          { "name": "glaze", "value": 2310.55, "range": "± 12", "unit": "ns/iter" }
        ]
      }
    ],
    "Python": [
      {
        "commit": { "id": "4e5f6071" },
        "date": 1767268800001,
        "tool": "pytest",
        "benches": [
          { "name": "t.py::fire", "value": 64.05, "unit": "iter/sec", "range": "stddev: 0.0026", "extra": "mean: 15.6 msec\nrounds: 64" }
        ]
      }
    ]
  }
}
