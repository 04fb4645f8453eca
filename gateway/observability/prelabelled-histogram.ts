import { Histogram, type HistogramConfiguration, type LabelValues } from 'prom-client';

/** What was observed under one set of labels. */
export class Observations {
  readonly #bounds: readonly number[];
  /** By bucket, that beyond the last bound included. */
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
    this.#count += 1;
  }

  /** In Prometheus' terms: each bucket counts those below it too. */
  values(name: string, labels: LabelValues<string>) {
    let below = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, bucket) => {
      below += this.#counts[bucket] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ];
  }
}

interface QuickHistogramOptions extends HistogramConfiguration<string> {
  buckets: number[];
}

/**
 * A histogram for what every request is observed by. prom-client's own takes its labels, and the bound of the bucket, as
 * text that is put together anew and looked up, which costs a request more than its access log; whoever observes here
 * keeps what belongs to its labels. The registry shows it like any other.
 */
export class QuickHistogram extends Histogram {
  readonly #options: QuickHistogramOptions;
  /** Never observes anything: it knows how the library describes a histogram. */
  readonly #empty: Histogram;
  readonly #observed: { labels: LabelValues<string>; observations: Observations }[] = [];

  constructor(options: QuickHistogramOptions) {
    super(options);
    this.#options = options;
    this.#empty = new Histogram({ ...options, registers: [] });
  }

  /** To be asked for once for the same labels. */
  observationsOf(labels: LabelValues<string>): Observations {
    const observations = new Observations(this.#options.buckets);
    this.#observed.push({ labels, observations });
    return observations;
  }

  override async get(): ReturnType<Histogram['get']> {
    const { name } = this.#options;
    const values = this.#observed.flatMap(({ labels, observations }) => observations.values(name, labels));
    return { ...(await this.#empty.get()), values };
  }

  /** What the registry asks for where it writes text. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get();
  }
}
