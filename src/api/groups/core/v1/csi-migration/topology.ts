// The node affinity of a volume with the labels of its CSI driver: the zones are under the driver's
// label. A volume without an affinity has its zones in its own labels.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { NodeSelectorRequirement, PersistentVolume } from '../index.ts';
import { BETA_ZONE, ZONE, ZONE_SEPARATOR, type InTreePlugin } from './plugins.ts';

type ReadVolume = Immutable<PersistentVolume>;
type Affinity = ReadVolume['spec']['nodeAffinity'];
type Requirement = Immutable<NodeSelectorRequirement>;

const REGION = 'topology.kubernetes.io/region';
const BETA_REGION = 'failure-domain.beta.kubernetes.io/region';

export function driverAffinity(
  { metadata, spec }: ReadVolume,
  { topology }: InTreePlugin,
): Affinity {
  if (topology === undefined) return spec.nodeAffinity;
  const { labels = {} } = metadata;
  let affinity = spec.nodeAffinity;
  const [zone, region] = labelsUsed(affinity, labels);
  if (hasValues(affinity, zone)) affinity = renamed(affinity, zone, topology.zone);
  else if (labels[zone] !== undefined) {
    // A driver with regions has no volumes in several zones.
    const zones =
      topology.region === undefined ? labels[zone].split(ZONE_SEPARATOR) : [labels[zone]];
    affinity = narrowed(affinity, topology.zone, zones);
  }
  if (topology.region === undefined)
    return region === BETA_REGION ? renamed(affinity, region, REGION) : affinity;
  if (hasValues(affinity, region)) return renamed(affinity, region, topology.region);
  return labels[region] === undefined
    ? affinity
    : narrowed(affinity, topology.region, [labels[region]]);
}

/**
 * Returns the labels in use. The affinity takes precedence over labels, and current names over old
 * ones.
 */
function labelsUsed(
  affinity: Affinity,
  labels: Readonly<Record<string, string>>,
): readonly [zone: string, region: string] {
  for (const has of [
    (key: string) => requirementsOf(affinity, key).length > 0,
    (key: string) => Object.hasOwn(labels, key),
  ]) {
    if (has(ZONE)) return [ZONE, REGION];
    if (has(BETA_ZONE)) return [BETA_ZONE, BETA_REGION];
  }
  return [ZONE, REGION];
}

function requirementsOf(affinity: Affinity, key: string): readonly Requirement[] {
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  return terms.flatMap(({ matchExpressions = [] }) =>
    matchExpressions.filter((one) => one.key === key),
  );
}

function hasValues(affinity: Affinity, key: string): boolean {
  return requirementsOf(affinity, key).some(({ values = [] }) => values.length > 0);
}

function renamed(affinity: Affinity, from: string, to: string): Affinity {
  return changed(affinity, (requirements) =>
    requirements.map((one) => (one.key === from ? { ...one, key: to } : one)),
  );
}

/** Returns the affinity with the zones as an additional requirement in every term. */
function narrowed(affinity: Affinity, key: string, zones: readonly string[]): Affinity {
  const values = [
    ...new Set(zones.map((zone) => zone.trim()).filter((zone) => zone !== '')),
  ].sort();
  if (values.length === 0) return affinity;
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const some: Affinity = terms.length > 0 ? affinity : { required: { nodeSelectorTerms: [{}] } };
  return changed(some, (requirements) => [...requirements, { key, operator: 'In', values }]);
}

function changed(
  affinity: Affinity,
  change: (requirements: readonly Requirement[]) => readonly Requirement[],
): Affinity {
  const required = affinity?.required;
  if (required === undefined) return affinity;
  const nodeSelectorTerms = required.nodeSelectorTerms.map((term) => {
    const matchExpressions = change(term.matchExpressions ?? []);
    return matchExpressions.length === 0 ? term : { ...term, matchExpressions };
  });
  return { ...affinity, required: { ...required, nodeSelectorTerms } };
}
