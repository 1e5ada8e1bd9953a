// The recorded events, for tests.

import { type Event, events } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';

/** Returns the events, the oldest first. */
export async function eventsOf(client: Client): Promise<readonly Immutable<Event>[]> {
  const { items } = await client.resource(events).list();
  return items.toSorted(
    (a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion),
  );
}
