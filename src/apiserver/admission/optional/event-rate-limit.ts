// Limits the writes of events: of all clients, or of each namespace, user, or source and object.

import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import { joinMessages } from '#machinery/validation/field.ts';
import type { EventLimit } from '../configuration.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';

interface Limit extends EventLimit {
  readonly buckets: LruCache<string, TokenBucket>;
}

export class EventRateLimit implements AdmissionPlugin {
  readonly name = 'EventRateLimit';
  readonly ignoresHeartbeats = true;
  readonly #clock: Clock;
  readonly #limits: readonly Limit[];

  constructor({ clock }: { readonly clock: Clock }, limits: readonly EventLimit[] = []) {
    this.#clock = clock;
    this.#limits = limits.map((limit) => ({
      ...limit,
      buckets: new LruCache({ capacity: limit.type === 'Server' ? 1 : limit.cacheSize }),
    }));
  }

  concerns({ operation, resource }: AdmissionTarget): boolean {
    return (
      (operation === 'CREATE' || operation === 'UPDATE') &&
      resource.resource === 'events' &&
      (resource.group === '' || resource.group === 'events.k8s.io')
    );
  }

  /** Every limit counts the request, also if another one is reached. */
  validate(attributes: AdmissionAttributes): void {
    if (attributes.dryRun) return;
    const reached = this.#limits.flatMap((limit) => {
      const key = keyOf(limit.type, attributes);
      return this.#accepts(limit, key)
        ? []
        : [`limit reached on type ${limit.type} for key ${key}`];
    });
    if (reached.length > 0) throw apierrors.tooManyRequestsError(joinMessages(new Set(reached)));
  }

  #accepts({ buckets, qps, burst }: Limit, key: string): boolean {
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket({ clock: this.#clock, perSecond: qps, burst });
      buckets.set(key, bucket);
    }
    return bucket.tryTake();
  }
}

function keyOf(type: EventLimit['type'], { namespace, user, object }: AdmissionAttributes): string {
  switch (type) {
    case 'Server':
      return '';
    case 'Namespace':
      return namespace;
    case 'User':
      return user.name;
    case 'SourceAndObject': {
      const { source, involvedObject: about } = object as Immutable<Event>;
      const { kind, namespace: place, name, uid, apiVersion } = about;
      return [source.component, source.host, kind, place, name, uid, apiVersion].join('');
    }
  }
}
