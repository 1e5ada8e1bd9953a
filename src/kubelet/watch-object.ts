// Watches a single object of the API, as long as it is needed.

import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformer } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { ObjectWatch, WatchObject } from './objects.ts';

export interface WatchObjectConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Lists the object, and watches it from then on. */
function watchObject<T extends KubeObject>(
  config: WatchObjectConfig,
  type: ResourceType<T>,
  namespace: string,
  name: string,
  onChange: () => void,
): ObjectWatch<Immutable<T>> {
  const { client, clock, random, logger } = config;
  const informer = new SharedInformer<Immutable<T>>({
    name: `${type.resource} ${namespace}/${name}`,
    source: client.resource(type).namespace(namespace),
    fieldSelector: `metadata.name=${name}`,
    clock,
    random,
    logger,
  });
  // Before the first list there is no earlier version that could have changed.
  informer.addEventHandler({
    onAdd: (_object, isInInitialList) => {
      if (!isInInitialList) onChange();
    },
    onUpdate: onChange,
    onDelete: onChange,
  });
  const abort = new AbortController();
  void informer.run(abort.signal);
  return {
    synced: informer.waitForSync(abort.signal),
    current: () => informer.lister.get(namespace, name),
    stop: () =>
      abort.abort(new Error(`${type.resource} ${namespace}/${name} is not needed any more`)),
  };
}

/** Returns a function that watches ConfigMaps and Secrets, each with a watch of its own. */
export function watchesOf(config: WatchObjectConfig): WatchObject {
  return (kind, namespace, name, onChange) =>
    watchObject(config, kind === 'secret' ? secrets : configMaps, namespace, name, onChange);
}
