// The arguments of the plugin: PodTopologySpreadArgs, the default constraints of pods without their
// own.

import type { TopologySpreadConstraint } from '#api/groups/core/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { isQualifiedName } from '#machinery/validation/validation.ts';
import type { ConfigReader } from '#scheduler/config/reader.ts';
import type { PluginArgs } from '#scheduler/framework/handle.ts';
import { readArgs } from '../args.ts';
import { HOSTNAME, ZONE } from '../topology/labels.ts';

export interface SpreadArgs {
  readonly defaultConstraints: readonly TopologySpreadConstraint[];
  /** The constraints are upstream's defaults: nodes without a zone are scored, too. */
  readonly systemDefaulted: boolean;
}

const SYSTEM_DEFAULTS: readonly TopologySpreadConstraint[] = [
  { topologyKey: HOSTNAME, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: ZONE, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
];

const MAX_INT32 = 2 ** 31 - 1;

export function readSpreadArgs(plugin: string, args: PluginArgs): SpreadArgs {
  return readArgs(plugin, args, ['defaultConstraints', 'defaultingType'], (reader) => {
    const type = reader.child('defaultingType');
    const system = (type.oneOf('System', 'List') ?? 'System') === 'System';
    const defaultConstraints = reader.child('defaultConstraints').items().map(readConstraint);
    if (system && defaultConstraints.length > 0) {
      reader.errors.push(
        field.invalid(type.path, 'System', 'when .defaultConstraints are not empty'),
      );
    }
    const seen = new Set<string>();
    defaultConstraints.forEach(({ topologyKey, whenUnsatisfiable }, index) => {
      const key = `{${topologyKey}, ${whenUnsatisfiable}}`;
      const at = reader.child('defaultConstraints').path.index(index);
      if (seen.has(key))
        reader.errors.push(field.duplicate(at.child('{topologyKey, whenUnsatisfiable}'), key));
      seen.add(key);
    });
    return {
      defaultConstraints: system ? SYSTEM_DEFAULTS : defaultConstraints,
      systemDefaulted: system,
    };
  });
}

function readTopologyKey(reader: ConfigReader): string {
  const key = reader.requiredString();
  if (key !== '')
    for (const why of isQualifiedName(key))
      reader.errors.push(field.invalid(reader.path, key, why));
  return key;
}

function readConstraint(reader: ConfigReader): TopologySpreadConstraint {
  reader.fields(
    'maxSkew',
    'topologyKey',
    'whenUnsatisfiable',
    'labelSelector',
    'minDomains',
    'nodeAffinityPolicy',
    'nodeTaintsPolicy',
    'matchLabelKeys',
  );
  for (const name of ['labelSelector', 'matchLabelKeys']) {
    const child = reader.child(name);
    if (!child.present) continue;
    reader.errors.push(
      field.forbidden(
        child.path,
        'constraint must not define a selector, as they deduced for each pod',
      ),
    );
  }
  const action = reader.child('whenUnsatisfiable');
  action.requiredString();
  if (!reader.child('maxSkew').present)
    reader.errors.push(field.required(reader.child('maxSkew').path));
  const whenUnsatisfiable = action.oneOf('DoNotSchedule', 'ScheduleAnyway') ?? 'ScheduleAnyway';
  const minDomains = reader.child('minDomains').integer(1, MAX_INT32);
  if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
    reader.errors.push(
      field.invalid(
        reader.child('minDomains').path,
        minDomains,
        'can only use minDomains if whenUnsatisfiable=DoNotSchedule',
      ),
    );
  }
  const nodeAffinityPolicy = reader.child('nodeAffinityPolicy').oneOf('Honor', 'Ignore');
  const nodeTaintsPolicy = reader.child('nodeTaintsPolicy').oneOf('Honor', 'Ignore');
  return {
    maxSkew: reader.child('maxSkew').integer(1, MAX_INT32, 'not in valid range (0, inf)') ?? 1,
    topologyKey: readTopologyKey(reader.child('topologyKey')),
    whenUnsatisfiable,
    ...(minDomains !== undefined && { minDomains }),
    ...(nodeAffinityPolicy !== undefined && { nodeAffinityPolicy }),
    ...(nodeTaintsPolicy !== undefined && { nodeTaintsPolicy }),
  };
}
