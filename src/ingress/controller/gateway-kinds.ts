// Watches the kinds of the Gateway API while their definitions are installed, which may happen at
// any time.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformer } from '#client/informers/index.ts';
import { groupVersionPath } from '#client/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { GatewayObjects } from '../decide/objects.ts';
import {
  GATEWAY_GROUP,
  gatewayClasses,
  gateways,
  grpcRoutes,
  httpRoutes,
  referenceGrants,
} from '../gateway-api/types.ts';

export interface GatewayKindsConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when an object has changed, or kinds were installed or removed. */
  readonly onChange: () => void;
  /** Called each time the kinds were installed. */
  readonly onInstalled: () => Promise<void>;
}

/** The time between two discoveries of the kinds. */
const DISCOVERY_MS = 5000;

interface Followed {
  readonly informer: SharedInformer<KubeObject>;
  readonly stop: AbortController;
  readonly run: Promise<void>;
}

export class GatewayKinds {
  readonly #config: GatewayKindsConfig;
  readonly #followed = new Map<string, Followed>();
  #installed = false;

  constructor(config: GatewayKindsConfig) {
    this.#config = config;
  }

  /** The objects; undefined: the kinds are not installed, or their objects have not synced. */
  get objects(): GatewayObjects | undefined {
    if (
      !this.#installed ||
      ![...this.#followed.values()].every(({ informer }) => informer.hasSynced())
    )
      return undefined;
    const list = <T extends KubeObject>(type: ResourceType<T>): readonly T[] =>
      (this.#followed.get(idOf(type))?.informer.lister.list() ?? []) as unknown as readonly T[];
    return {
      gatewayClasses: () => list(gatewayClasses),
      gateways: () => list(gateways),
      httpRoutes: () => list(httpRoutes),
      grpcRoutes: () => list(grpcRoutes),
      referenceGrants: () => [...list(referenceGrants('v1')), ...list(referenceGrants('v1beta1'))],
    };
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config;
    while (!signal.aborted) {
      try {
        this.#follow(await this.#discover(signal));
      } catch (error) {
        if (signal.aborted) break;
        logger.debug('kinds of the Gateway API cannot be discovered, retrying', {
          reason: errorMessage(error),
        });
      }
      await clock.sleep(DISCOVERY_MS, signal).catch(() => undefined);
    }
    const all = [...this.#followed.values()];
    for (const { stop } of all) stop.abort(new Error('the ingress stops'));
    await Promise.all(all.map(({ run }) => run));
  }

  async #discover(signal: AbortSignal): Promise<ResourceType<KubeObject>[]> {
    const v1 = await this.#resources('v1', signal);
    const needed = [gatewayClasses, gateways, httpRoutes];
    if (!needed.every(({ resource }) => v1.has(resource))) return [];
    const optional = [grpcRoutes, referenceGrants('v1')].filter(({ resource }) => v1.has(resource));
    const types: ResourceType<KubeObject>[] = [...needed, ...optional];
    if (
      v1.has('referencegrants') ||
      !(await this.#resources('v1beta1', signal)).has('referencegrants')
    )
      return types;
    return [...types, referenceGrants('v1beta1')];
  }

  async #resources(version: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const path = groupVersionPath(GATEWAY_GROUP, version);
    try {
      const { resources } = await this.#config.client.transport.request<{
        readonly resources: readonly { readonly name: string }[];
      }>({ method: 'GET', path, signal });
      return new Set(resources.map(({ name }) => name));
    } catch (error) {
      if (apierrors.isNotFound(error)) return new Set();
      throw error;
    }
  }

  #follow(types: readonly ResourceType<KubeObject>[]): void {
    const { logger, onChange, onInstalled } = this.#config;
    const wanted = new Map(types.map((type) => [idOf(type), type]));
    let changed = false;
    for (const [id, { stop }] of this.#followed) {
      if (wanted.has(id)) continue;
      stop.abort(new Error('the kind is gone'));
      this.#followed.delete(id);
      changed = true;
    }
    for (const [id, type] of wanted) {
      if (this.#followed.has(id)) continue;
      this.#followed.set(id, this.#start(type));
      changed = true;
    }
    const installed = types.length > 0;
    if (installed && !this.#installed) {
      logger.info('the Gateway API is installed');
      onInstalled().catch((error: unknown) =>
        logger.warn('GatewayClass cannot be created', { reason: errorMessage(error) }),
      );
    }
    this.#installed = installed;
    if (changed) onChange();
  }

  #start(type: ResourceType<KubeObject>): Followed {
    const { client, clock, random, logger, onChange } = this.#config;
    const source = client.resource(type);
    const informer = new SharedInformer<Immutable<KubeObject>>({
      name: `ingress ${type.resource}`,
      source,
      clock,
      random,
      logger,
    });
    informer.addEventHandler({ onAdd: onChange, onUpdate: onChange, onDelete: onChange });
    const stop = new AbortController();
    const run = informer.run(stop.signal);
    informer.waitForSync(stop.signal).then(onChange, () => undefined);
    return { informer, stop, run };
  }
}

const idOf = ({ resource, version }: ResourceType<KubeObject>): string => `${resource}/${version}`;
