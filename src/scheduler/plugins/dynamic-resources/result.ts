// Converts an allocation to the status of a claim.

import type { DeviceAllocationConfiguration } from '#api/groups/resource/v1/index.ts';
import type { NodeSelector, NodeSelectorRequirement } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { AllocationError, type Ask, type Pick } from './allocator.ts';
import type { Allocation, ResourceClaim } from './objects.ts';

/** Returns the allocation. `newId`: creates IDs for shares of devices. */
export function allocationOf(
  claim: ResourceClaim,
  picks: readonly Pick[],
  node: string,
  newId: () => string,
): Allocation {
  const results = picks.map(({ ask, pooled, share }) => {
    const { device, pool } = pooled;
    const { tolerations } = ask.request;
    return {
      request: nameOf(ask),
      driver: pool.driver,
      pool: pool.name,
      device: device.name,
      ...(ask.adminAccess && { adminAccess: true }),
      ...(tolerations !== undefined && { tolerations: [...tolerations] }),
      ...(device.bindingConditions !== undefined && {
        bindingConditions: [...device.bindingConditions],
      }),
      ...(device.bindingFailureConditions !== undefined && {
        bindingFailureConditions: [...device.bindingFailureConditions],
      }),
      ...(share !== undefined && { shareID: newId() }),
      ...(share !== undefined &&
        share.consumed.size > 0 && {
          consumedCapacity: Object.fromEntries(
            Array.from(share.consumed, ([name, amount]) => [name, amount.toString()]),
          ),
        }),
    };
  });
  const config = configOf(claim, picks);
  const nodeSelector = nodeSelectorOf(picks, node);
  return {
    devices: { results, ...(config.length > 0 && { config }) },
    ...(nodeSelector !== undefined && { nodeSelector }),
  };
}

/** Returns the name of a request in results, with the chosen alternative. */
function nameOf({ name: { request, alternative } }: Ask): string {
  return alternative === undefined ? request : `${request}/${alternative}`;
}

/**
 * Returns the configuration of the classes, each once, then of the claim, for requests that have
 * devices.
 */
function configOf(
  claim: ResourceClaim,
  picks: readonly Pick[],
): readonly Immutable<DeviceAllocationConfiguration>[] {
  const requests = claim.spec.devices.requests ?? [];
  const asks = requests.flatMap(
    ({ name }) => picks.find(({ ask }) => ask.name.request === name)?.ask ?? [],
  );
  const config: Immutable<DeviceAllocationConfiguration>[] = [];
  const classes = new Map<string, Ask[]>();
  for (const ask of asks) {
    const name = ask.deviceClass.metadata.name;
    classes.set(name, [...(classes.get(name) ?? []), ask]);
  }
  for (const ofClass of classes.values()) {
    for (const { opaque } of ofClass[0]?.deviceClass.spec.config ?? []) {
      config.push({
        source: 'FromClass',
        requests: ofClass.map(nameOf),
        ...(opaque !== undefined && { opaque }),
      });
    }
  }
  for (const { requests: named = [], opaque } of claim.spec.devices.config ?? []) {
    const times =
      named.length === 0
        ? 1
        : asks.filter((ask) => named.includes(ask.name.request) || named.includes(nameOf(ask)))
            .length;
    for (let i = 0; i < times; i++) {
      config.push({
        source: 'FromClaim',
        requests: [...named],
        ...(opaque !== undefined && { opaque }),
      });
    }
  }
  // Without names, the configuration applies to all requests.
  return config.map(({ requests: named = [], ...rest }) =>
    named.length === 0 || named.length === requests.length ? rest : { requests: named, ...rest },
  );
}

/** Returns the nodes that can use the devices; undefined: all nodes. */
function nodeSelectorOf(picks: readonly Pick[], node: string): NodeSelector | undefined {
  const matchFields: NodeSelectorRequirement[] = [];
  const matchExpressions: NodeSelectorRequirement[] = [];
  for (const { pooled } of picks) {
    const { spec } = pooled.slice;
    const { nodeName, nodeSelector } = spec.perDeviceNodeSelection === true ? pooled.device : spec;
    if (nodeName !== undefined || pooled.device.bindsToNode === true) {
      return {
        nodeSelectorTerms: [
          { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] },
        ],
      };
    }
    const terms = nodeSelector?.nodeSelectorTerms ?? [];
    if (terms.length > 1)
      throw new AllocationError(
        `unsupported ResourceSlice.NodeSelector with ${terms.length} terms`,
      );
    addNew(matchFields, terms[0]?.matchFields);
    addNew(matchExpressions, terms[0]?.matchExpressions);
  }
  if (matchFields.length === 0 && matchExpressions.length === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(matchExpressions.length > 0 && { matchExpressions }),
        ...(matchFields.length > 0 && { matchFields }),
      },
    ],
  };
}

function addNew(
  to: NodeSelectorRequirement[],
  from: readonly Immutable<NodeSelectorRequirement>[] | undefined,
): void {
  const sorted = ({ values, ...rest }: Immutable<NodeSelectorRequirement>) => ({
    ...rest,
    values: [...(values ?? [])].sort(),
  });
  for (const requirement of from ?? []) {
    if (to.some((present) => semanticEqual(sorted(present), sorted(requirement)))) continue;
    const { values, ...rest } = requirement;
    to.push(values === undefined ? { ...rest } : { ...rest, values: [...values] });
  }
}
