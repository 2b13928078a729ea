"""What the page of metrics says, in the text format of Prometheus."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from pepsi.httpd.metrics import METRICS, Distribution, Kind
from pepsi.sched.meters import Histogram
from pepsi.sched.reading import Reading

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exposition:
    """Renders what *read* returns at the moment of asking, and what the kernel says of this process."""

    def __init__(self, read: Callable[[], Reading]) -> None:
        # A registry of our own: the library's global one is everybody's.
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Dispatcher(read))
        ProcessCollector(registry=self._registry)

    def render(self) -> bytes:
        """Return the page."""
        return generate_latest(self._registry)


class _Dispatcher(Collector):
    def __init__(self, read: Callable[[], Reading]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        reading = self._read()
        for metric in METRICS:
            if isinstance(metric, Distribution):
                yield _histogram(metric, metric.histogram(reading))
                continue
            make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
            family = make(metric.name, metric.help, labels=metric.labels)
            for labels, value in metric.values(reading):
                family.add_metric(labels, value)
            yield family


def _histogram(metric: Distribution, histogram: Histogram) -> HistogramMetricFamily:
    buckets = [("+Inf" if bound == float("inf") else repr(bound), count) for bound, count in histogram.cumulated()]
    family = HistogramMetricFamily(metric.name, metric.help)
    family.add_metric([], buckets, histogram.sum)
    return family
