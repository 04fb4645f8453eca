import { disturbsDecisions, overlaps, type Delivery } from '../history.ts';
import type { View } from '../view.ts';
import { found } from './events.ts';
import type { Find } from './promise.ts';

const isTaken = ({ status }: Delivery) => status >= 200 && status < 300;

/** Every event comes, always the same, and nothing else comes. */
export const eventsAreDelivered: Find = ({ history: { events } }) => {
  if (events === undefined) return [];
  const { published, deliveries } = events;
  const byId = Map.groupBy(deliveries, ({ id }) => id);
  const known = new Set(published.map(({ id }) => id));
  const missing = published.flatMap(({ id, type }) =>
    byId.get(id)?.some(isTaken) === true ? [] : found(`${type} ${id} was not delivered`),
  );
  const wrong = Array.from(byId).flatMap(([id, same]) => {
    if (!known.has(id)) return found(`${id} was delivered, but not published`);
    return new Set(same.map(({ body }) => body)).size === 1 ? [] : found(`${id} has two contents`);
  });
  return missing.concat(wrong);
};

/** Events of one customer come in their order: the next one is not sent before the last one was taken. */
export const eventsInOrder: Find = ({ history: { events } }) => {
  if (events === undefined) return [];
  const byId = Map.groupBy(events.deliveries, ({ id }) => id);
  const byOwner = Map.groupBy(events.published, ({ owner }) => owner);
  return Array.from(byOwner).flatMap(([owner, inOrder]) =>
    inOrder.flatMap(({ id, type }, index) => {
      const before = inOrder[index - 1];
      const [first] = byId.get(id) ?? [];
      const taken = before && byId.get(before.id)?.find(isTaken);
      return first !== undefined && taken !== undefined && first.endMs < taken.startMs
        ? found(`${owner}: ${type} ${id} was sent before ${before?.type} ${before?.id} was taken`)
        : [];
    }),
  );
};

/** Time in which a leader records that an event was taken. One that ends or loses Redis before that leaves it to be sent again. */
const recordMs = 1000;

/** An event that was taken comes again only after a fault, or the end of a process. */
export const eventsRepeatedWithCause: Find = ({ history }: View) => {
  const ends = history.lives.map(({ endMs }) => ({ startMs: endMs - recordMs, endMs }));
  const disturbing = [...history.faults.filter(disturbsDecisions), ...ends];
  const byId = Map.groupBy(history.events?.deliveries ?? [], ({ id }) => id);
  return Array.from(byId).flatMap(([id, same]) =>
    same.flatMap((delivery, index) => {
      const taken = same.slice(0, index).find(isTaken);
      if (taken === undefined) return [];
      const between = { startMs: taken.startMs - recordMs, endMs: delivery.startMs };
      return disturbing.some((fault) => overlaps(fault, between))
        ? []
        : found(`${id} came again ${delivery.startMs - taken.endMs} ms after it was taken`);
    }),
  );
};
