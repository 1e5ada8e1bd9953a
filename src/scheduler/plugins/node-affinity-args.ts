// Reads and validates the node affinity in the plugin's configuration. (The API validates node
// affinities of pods.)

import type {
  NodeAffinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PreferredSchedulingTerm,
} from '#api/groups/core/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { ConfigReader } from '../config/reader.ts';

export function readNodeAffinity(reader: ConfigReader): NodeAffinity {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  reader.fields(required, preferred);
  const affinity: NodeAffinity = {};
  if (reader.child(required).present) affinity[required] = readSelector(reader.child(required));
  if (reader.child(preferred).present)
    affinity[preferred] = reader.child(preferred).items().map(readPreferred);
  return affinity;
}

function readSelector(reader: ConfigReader): NodeSelector {
  reader.fields('nodeSelectorTerms');
  const terms = reader.child('nodeSelectorTerms');
  const nodeSelectorTerms = terms.items().map(readTerm);
  if (nodeSelectorTerms.length === 0)
    reader.errors.push(field.required(terms.path, 'must have at least one node selector term'));
  return { nodeSelectorTerms };
}

function readPreferred(reader: ConfigReader): PreferredSchedulingTerm {
  reader.fields('weight', 'preference');
  if (!reader.child('weight').present)
    reader.errors.push(field.required(reader.child('weight').path));
  return {
    weight: reader.child('weight').integer(1, 100) ?? 0,
    preference: readTerm(reader.child('preference')),
  };
}

function readTerm(reader: ConfigReader): NodeSelectorTerm {
  reader.fields('matchExpressions', 'matchFields');
  const term: NodeSelectorTerm = {};
  if (reader.child('matchExpressions').present)
    term.matchExpressions = reader.child('matchExpressions').items().map(readRequirement);
  if (reader.child('matchFields').present) {
    term.matchFields = reader
      .child('matchFields')
      .items()
      .map((item) => {
        const requirement = readRequirement(item);
        item.child('key').oneOf('metadata.name');
        item.child('operator').oneOf('In', 'NotIn');
        return requirement;
      });
  }
  return term;
}

function readRequirement(reader: ConfigReader): NodeSelectorRequirement {
  reader.fields('key', 'operator', 'values');
  const key = reader.child('key').requiredString();
  reader.child('operator').requiredString();
  const operator =
    reader.child('operator').oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt') ?? 'Exists';
  const values = reader
    .child('values')
    .items()
    .map((item) => item.string() ?? '');
  const at = reader.child('values').path;
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
    reader.errors.push(field.required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
    reader.errors.push(
      field.forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    );
  } else if (
    (operator === 'Gt' || operator === 'Lt') &&
    (values.length !== 1 || !/^[+-]?\d+$/.test(values[0] ?? ''))
  ) {
    reader.errors.push(
      field.invalid(at, values, "must be one integer when `operator` is 'Lt' or 'Gt'"),
    );
  }
  return values.length > 0 ? { key, operator, values } : { key, operator };
}
