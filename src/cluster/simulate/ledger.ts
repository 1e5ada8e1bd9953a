// Acknowledged requests: writes of the scenario must persist, and an eviction must have been allowed
// by its budget.

import { pods, type Pod } from '#api/groups/core/v1/index.ts';
import { podDisruptionBudgets } from '#api/groups/policy/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ApiResponse } from '#apiserver/request.ts';
import { resourcePath } from '#client/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type Call, isWrite, TEST_COMPONENT } from '#simulation/faults/index.ts';
import type { FaultRule } from '#simulation/faults/interceptor.ts';
import type { ScenarioContext, ScenarioInvariant } from './scenario.ts';

type AnyPod = Immutable<Pod>;

interface Acknowledged {
  readonly path: string;
  readonly uid: string;
  /** Not older than this. */
  readonly revision: number;
}

export class Ledger {
  readonly #objects = new Map<string, Acknowledged>();
  readonly #problems: string[] = [];
  #context: ScenarioContext | undefined;

  /** The context in which evictions are looked at. */
  begin(context: ScenarioContext): void {
    this.#context = context;
  }

  /** Sees what is acknowledged. */
  readonly rule: FaultRule = {
    request: (call, next, request) => {
      if (call.verb === 'create' && call.subresource === 'eviction')
        return this.#eviction(call, next);
      if (call.subresource !== '' || !isWrite(call.verb)) return undefined;
      if (call.verb === 'deletecollection') {
        this.#objects.clear();
        return undefined;
      }
      // A controller may delete the object, such as that of the time to live of jobs.
      if (call.component !== TEST_COMPONENT && call.verb !== 'delete') return undefined;
      const { group, resource } = call;
      const version = request.info.apiVersion;
      return next().then((response) => {
        const { metadata } = objectOf(response);
        const name = metadata?.name ?? call.name;
        const path = resourcePath({ group, version, resource }, call.namespace, name);
        // Its owner or a namespace may take it along, and finalizers may keep it.
        if (call.verb === 'delete' || metadata?.deletionTimestamp !== undefined)
          this.#objects.delete(path);
        else if (metadata?.uid !== undefined)
          this.#objects.set(path, {
            path,
            uid: metadata.uid,
            revision: Number(metadata.resourceVersion ?? 0),
          });
        return response;
      });
    },
  };

  readonly writesPersist: ScenarioInvariant = {
    name: 'acknowledged writes persist',
    check: async ({ cluster }) => {
      const problems: string[] = [];
      for (const { path, uid, revision } of this.#objects.values()) {
        try {
          const { metadata } = await cluster.client.transport.request<{
            metadata: { uid: string; resourceVersion: string };
          }>({ method: 'GET', path });
          if (metadata.uid !== uid || Number(metadata.resourceVersion) < revision)
            problems.push(`${path} is not what was written`);
        } catch (error) {
          if (!apierrors.isNotFound(error)) throw error;
          problems.push(`${path} is gone`);
        }
      }
      return problems;
    },
  };

  readonly budgetsHold: ScenarioInvariant = {
    name: 'budgets hold',
    check: async () => this.#problems.splice(0),
  };

  async #eviction(call: Call, next: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const before = await this.#spare(call);
    const response = await next();
    if (response.code < 300 && before !== undefined && before < 0)
      this.#problems.push(`${call.namespace}/${call.name} was evicted beyond its budget`);
    return response;
  }

  /** Returns how many ready pods are beyond what the pod's budget wants after the eviction; undefined: it has none. */
  async #spare({ namespace, name }: Call): Promise<number | undefined> {
    if (this.#context === undefined) return undefined;
    const { cluster } = this.#context;
    const all = await cluster.list(pods, { namespace });
    const pod = all.find(({ metadata }) => metadata.name === name);
    if (pod === undefined) return undefined;
    for (const { spec } of await cluster.list(podDisruptionBudgets, { namespace })) {
      const labels = Object.entries(spec.selector?.matchLabels ?? {});
      const isSelected = (labelled: AnyPod): boolean =>
        labels.every(([key, value]) => labelled.metadata.labels?.[key] === value);
      if (labels.length === 0 || !isSelected(pod) || typeof spec.minAvailable !== 'number')
        continue;
      const isReady = (candidate: AnyPod): boolean =>
        candidate.metadata.deletionTimestamp === undefined &&
        candidate.status.conditions?.some(
          ({ type, status }) => type === 'Ready' && status === 'True',
        ) === true;
      // A pod that is not ready itself may go.
      if (!isReady(pod)) return undefined;
      return all.filter((each) => isSelected(each) && isReady(each)).length - 1 - spec.minAvailable;
    }
    return undefined;
  }
}

function objectOf({ body }: ApiResponse): {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
  };
} {
  return body.kind === 'object' ? (body.object.object() as ReturnType<typeof objectOf>) : {};
}
