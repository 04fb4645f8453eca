/** Upper bounds of the buckets that durations of requests are counted in, in seconds. A further one has no bound. */
export const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
