// How many seats a request takes: one, and more for lists of many objects. The number of objects is
// learned from the responses to earlier lists of the resource.

import type { ApiRequest, ApiResponse, RequestInfo } from '../request.ts';

const OBJECTS_PER_SEAT = 100;
/** No list takes more seats than this. */
const MAX_SEATS = 10;
/** Resources whose number of objects is remembered. */
const MAX_RESOURCES = 10_000;

export class WorkEstimator {
  readonly #objects = new Map<string, number>();

  /** Returns the seats of a request. `maxSeats`: the most that its priority level permits. */
  seatsOf({ info, query }: Pick<ApiRequest, 'info' | 'query'>, maxSeats: number): number {
    if (info.verb !== 'list' || info.name !== '') return 1;
    const stored = this.#objects.get(keyOf(info));
    if (stored === undefined || stored <= OBJECTS_PER_SEAT) return 1;
    const limit = Number(query.get('limit') ?? 0);
    const isSelective = query.has('labelSelector') || query.has('fieldSelector');
    const processed = limit > 0 && !isSelective ? Math.min(limit, stored) : stored;
    return Math.max(1, Math.min(maxSeats, MAX_SEATS, Math.ceil(processed / OBJECTS_PER_SEAT)));
  }

  /** Learns from the response to a list. */
  observe({ info, query }: Pick<ApiRequest, 'info' | 'query'>, { body }: ApiResponse): void {
    if (info.verb !== 'list' || body.kind !== 'list') return;
    const remaining = body.metadata['remainingItemCount'];
    const count = body.items.length + (typeof remaining === 'number' ? remaining : 0);
    const key = keyOf(info);
    const isWhole =
      info.namespace === '' && !query.has('labelSelector') && !query.has('fieldSelector');
    const known = this.#objects.get(key);
    if (known === undefined && this.#objects.size >= MAX_RESOURCES) return;
    if (known !== count && (isWhole || count > (known ?? 0))) this.#objects.set(key, count);
  }
}

const keyOf = ({ apiGroup, resource }: RequestInfo): string =>
  apiGroup === '' ? resource : `${resource}.${apiGroup}`;
