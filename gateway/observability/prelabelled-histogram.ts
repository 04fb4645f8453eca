import { Histogram, type HistogramConfiguration, type LabelValues } from 'prom-client';

/** Observations with one set of labels. */
export class HistogramChild {
  readonly #bounds: readonly number[];
  /** Observations in each bucket, with the one beyond the last bound. */
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
    this.#count += 1;
  }

  /** Observations in each bucket alone; the last one has no upper bound. */
  buckets(): { bound: number; count: number }[] {
    return this.#counts.map((count, bucket) => ({ bound: this.#bounds[bucket] ?? Infinity, count }));
  }

  /** Values in Prometheus' terms: each bucket includes the ones below it. */
  values(name: string, labels: LabelValues<string>) {
    let cumulative = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, bucket) => {
      cumulative += this.#counts[bucket] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: cumulative };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ];
  }
}

interface PrelabelledHistogramOptions extends HistogramConfiguration<string> {
  buckets: number[];
}

/**
 * A histogram for values of every request. prom-client builds and looks up a text from the labels and the bound at each
 * observation, which costs more than the access log; here the caller keeps the child of its labels. The registry shows
 * it like any other histogram.
 */
export class PrelabelledHistogram extends Histogram {
  readonly #options: PrelabelledHistogramOptions;
  /** Never observes anything. Supplies the library's description of the histogram. */
  readonly #empty: Histogram;
  readonly #children = new Map<string, { labels: LabelValues<string>; child: HistogramChild }>();

  constructor(options: PrelabelledHistogramOptions) {
    super(options);
    this.#options = options;
    this.#empty = new Histogram({ ...options, registers: [] });
  }

  /** @returns the child of a set of labels, which is created at the first call */
  child(labels: LabelValues<string>): HistogramChild {
    const key = JSON.stringify(labels);
    let entry = this.#children.get(key);
    if (entry === undefined) {
      entry = { labels, child: new HistogramChild(this.#options.buckets) };
      this.#children.set(key, entry);
    }
    return entry.child;
  }

  /** All children with their labels. */
  children(): { labels: LabelValues<string>; child: HistogramChild }[] {
    return [...this.#children.values()];
  }

  override async get(): ReturnType<Histogram['get']> {
    const values = this.children().flatMap(({ labels, child }) => child.values(this.#options.name, labels));
    return { ...(await this.#empty.get()), values };
  }

  /** Called by the registry when it renders text. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get();
  }
}
