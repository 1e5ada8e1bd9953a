// GET /console/api/why?kind=KIND&name=NAME&namespace=NS: the causes of an object's state, as the
// signed-in user may see them.

import { type Pod, pods as podType } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import {
  explain,
  findResource,
  gather,
  type SchedulingVerdict,
  servedResources,
} from '#client/explain/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import {
  type ConsoleRequest,
  type ConsoleResponse,
  expectMethod,
  json,
  type User,
  USER_AGENT,
} from '../http.ts';

/** Repeats the scheduler's decision about pods without effect, by their UIDs. */
export type Verdicts = (
  client: Client,
  pods: readonly Immutable<Pod>[],
) => Promise<ReadonlyMap<string, SchedulingVerdict>>;

export interface WhyConfig {
  readonly clock: Clock;
  readonly clientOf: (user: User, userAgent: string) => Client;
  /** Absent: pods without a node are explained by their conditions and events alone. */
  readonly verdicts?: Verdicts;
}

/** Explanations at a time: each reads up to some thousand objects. */
const MAX_CONCURRENT = 4;
/** In a larger cluster the scheduler's decision is not repeated: it would read every pod. */
const MAX_PODS_OF_DRY_RUN = 20_000;
const MAX_LENGTH = 512;

export class Why {
  readonly #config: WhyConfig;
  #running = 0;

  constructor(config: WhyConfig) {
    this.#config = config;
  }

  async serve(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'GET');
    const kind = parameter(request, 'kind');
    const name = parameter(request, 'name');
    if (kind === '' || name === '')
      throw apierrors.badRequest('the query needs kind and name, such as kind=pods&name=web-0');
    if (this.#running >= MAX_CONCURRENT)
      throw apierrors.tooManyRequests('too many explanations at a time', 1);
    this.#running++;
    try {
      return json(await this.#explain(request, kind, name));
    } finally {
      this.#running--;
    }
  }

  async #explain(request: ConsoleRequest, kind: string, name: string): Promise<object> {
    const { clock, clientOf, verdicts } = this.#config;
    const client = clientOf(request.user!, USER_AGENT);
    try {
      const resources = await servedResources(client, request.signal);
      const type = findResource(resources, kind);
      if (type === undefined)
        throw apierrors.badRequest(`the server has no resource type ${JSON.stringify(kind)}`);
      const target = { type, namespace: parameter(request, 'namespace'), name };
      const { object, objects, unscheduled } = await gather({ client, resources }, target);
      const scheduling =
        verdicts !== undefined && unscheduled.length > 0 && (await isSmall(client))
          ? await verdicts(client, unscheduled)
          : undefined;
      return explain(object, {
        objects,
        now: clock.now(),
        ...(scheduling !== undefined && { scheduling }),
      });
    } finally {
      client.transport.close();
    }
  }
}

/** Reports whether the cluster has few enough pods to be read, and the user may read them. */
async function isSmall(client: Client): Promise<boolean> {
  try {
    const { metadata, items } = await client.resource(podType).list({ limit: 1 });
    return items.length + (metadata.remainingItemCount ?? 0) <= MAX_PODS_OF_DRY_RUN;
  } catch (error) {
    if (apierrors.isForbidden(error)) return false;
    throw error;
  }
}

function parameter({ query }: ConsoleRequest, name: string): string {
  const values = query.getAll(name);
  const [value = ''] = values;
  if (values.length > 1 || value.length > MAX_LENGTH)
    throw apierrors.badRequest(`the parameter ${name} is repeated or too long`);
  return value;
}
