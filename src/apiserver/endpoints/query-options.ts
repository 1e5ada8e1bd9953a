// Parses and validates the options in a request's query. Error messages are Kubernetes'.

import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { IntegerError, parseInt64 } from '#machinery/text/go-numbers.ts';
import { type FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import * as fields from '#machinery/selectors/fields.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { parseResourceVersion } from '../registry/resource-version.ts';
import type { DeleteOptions, ListOptions, WatchOptions } from '../registry/rest.ts';
import type { SelectableFields } from '../registry/selectable-fields.ts';
import { everything, Selection } from '../registry/selection.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** An apply takes over fields of other managers. */
  readonly force: boolean;
}

const META_GROUP = 'meta.k8s.io';
const MAX_FIELD_MANAGER_LENGTH = 128;
const PLAIN_WRITE: WriteQuery = {
  dryRun: false,
  fieldManager: '',
  fieldValidation: 'Warn',
  force: false,
};

/**
 * Parses the query of create and update. Throws StatusError (422) with the options of `kind`, such
 * as 'CreateOptions'.
 */
export function parseWriteQuery(query: URLSearchParams, kind: string): WriteQuery {
  return query.size === 0 ? PLAIN_WRITE : readWriteQuery(query, kind, []);
}

/** Parses the query of a patch. Throws StatusError (422). */
export function parsePatchQuery(
  query: URLSearchParams,
  { apply }: { readonly apply: boolean },
): WriteQuery {
  if (query.size === 0 && !apply) return PLAIN_WRITE;
  const errors: FieldErrorList = [];
  if (!apply) {
    if (query.has('force'))
      errors.push(
        field.forbidden(new FieldPath('force'), 'may not be specified for non-apply patch'),
      );
  } else if ((query.get('fieldManager') ?? '') === '') {
    errors.push(field.required(new FieldPath('fieldManager'), 'is required for apply patch'));
  }
  return readWriteQuery(query, 'PatchOptions', errors);
}

/** Parses a write's query. `errors`: errors that were already found. */
function readWriteQuery(query: URLSearchParams, kind: string, errors: FieldErrorList): WriteQuery {
  const dryRun = checkDryRun(query.getAll('dryRun'), errors);
  const fieldManager = query.get('fieldManager') ?? '';
  if (fieldManager.length > MAX_FIELD_MANAGER_LENGTH) {
    errors.push(
      field.tooLong(new FieldPath('fieldManager'), fieldManager, MAX_FIELD_MANAGER_LENGTH),
    );
  }
  // The message about a name that is far too long does not check its characters.
  const unprintable =
    fieldManager.length > 1024 ? null : /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(fieldManager);
  if (unprintable !== null) {
    const code = unprintable[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    const at = Buffer.byteLength(fieldManager.slice(0, unprintable.index));
    const message = `invalid character U+${code} (at position ${at})`;
    errors.push(field.invalid(new FieldPath('fieldManager'), fieldManager, message));
  }
  const fieldValidation = query.get('fieldValidation') ?? '';
  if (!['', 'Strict', 'Warn', 'Ignore'].includes(fieldValidation)) {
    errors.push(
      field.notSupported(new FieldPath('fieldValidation'), fieldValidation, [
        '',
        'Ignore',
        'Strict',
        'Warn',
      ]),
    );
  }
  if (errors.length > 0) throw apierrors.invalid({ group: META_GROUP, kind }, '', errors);
  return {
    dryRun,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    force: parseBoolean(query, 'force') ?? false,
  };
}

function checkDryRun(values: readonly string[], errors: FieldErrorList): boolean {
  const dryRunValues = values.filter((value) => value !== '');
  if (dryRunValues.some((value) => value !== 'All')) {
    errors.push(field.notSupported(new FieldPath('dryRun'), dryRunValues, ['All']));
  }
  return dryRunValues.length > 0;
}

export interface ListQuery extends ListOptions {
  /** The duration of a watch in seconds; 0: the server chooses. */
  readonly timeoutSeconds: number;
}

const PLAIN_LIST: ListQuery = {
  selection: everything,
  limit: 0,
  continue: '',
  resourceVersion: '',
  resourceVersionMatch: '',
  timeoutSeconds: 0,
};

export interface SelectorConfig {
  /** The fields that field selectors may use. */
  readonly selectableFields: SelectableFields;
  /** The name in the path, which restricts the list to that object; '' for none. */
  readonly name: string;
}

/** Parses the query of list and deletecollection. Throws StatusError (400, 422). */
export function parseListQuery(query: URLSearchParams, selectors: SelectorConfig): ListQuery {
  if (query.size === 0 && selectors.name === '') return PLAIN_LIST;
  const errors: FieldErrorList = [];
  const common = parseCommon(query, selectors);
  if (query.has('sendInitialEvents')) {
    errors.push(
      field.forbidden(
        new FieldPath('sendInitialEvents'),
        'sendInitialEvents is forbidden for list',
      ),
    );
  }
  errors.push(...checkMatch(common));
  if (errors.length > 0)
    throw apierrors.invalid({ group: META_GROUP, kind: 'ListOptions' }, '', errors);
  // With a continue token, no other resourceVersion is allowed, so the token is checked first.
  if (common.continue === '')
    parseResourceVersion(common.resourceVersion, 'invalid resource version: ');
  return common;
}

function checkMatch(options: ListQuery): FieldErrorList {
  const { resourceVersionMatch: match, resourceVersion } = options;
  if (match === '') return [];
  const at = new FieldPath('resourceVersionMatch');
  const errors: FieldErrorList = [];
  if (resourceVersion === '') {
    errors.push(
      field.forbidden(at, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  }
  if (options.continue !== '')
    errors.push(field.forbidden(at, 'resourceVersionMatch is forbidden when continue is provided'));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(field.notSupported(at, match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && resourceVersion === '0') {
    errors.push(
      field.forbidden(at, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    );
  }
  return errors;
}

export interface WatchQuery extends WatchOptions {
  readonly timeoutSeconds: number;
}

/** Parses the query of a watch. Throws StatusError (400, 422). */
export function parseWatchQuery(query: URLSearchParams, selectors: SelectorConfig): WatchQuery {
  const common = parseCommon(query, selectors);
  const allowBookmarks = parseBoolean(query, 'allowWatchBookmarks') ?? false;
  const given = parseBoolean(query, 'sendInitialEvents');
  const { resourceVersion, resourceVersionMatch: givenMatch } = common;
  // A watch from the current state begins with it, as if the client had asked for that.
  const fromState =
    given === undefined && givenMatch === '' && (resourceVersion === '' || resourceVersion === '0');
  const sendInitialEvents = fromState ? true : given;
  const match = fromState ? 'NotOlderThan' : givenMatch;
  const errors: FieldErrorList = [];
  const at = new FieldPath('resourceVersionMatch');
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    errors.push(
      field.forbidden(
        at,
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    );
  if (match !== '') {
    if (sendInitialEvents === undefined)
      errors.push(
        field.forbidden(
          at,
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      );
    if (match !== 'NotOlderThan') errors.push(field.notSupported(at, match, ['NotOlderThan']));
    if (common.continue !== '')
      errors.push(
        field.forbidden(at, 'resourceVersionMatch is forbidden when continue is provided'),
      );
  }
  if (errors.length > 0)
    throw apierrors.invalid({ group: META_GROUP, kind: 'ListOptions' }, '', errors);
  parseResourceVersion(resourceVersion, '');
  return {
    selection: common.selection,
    resourceVersion: common.resourceVersion,
    timeoutSeconds: common.timeoutSeconds,
    allowBookmarks,
    sendInitialEvents,
  };
}

function parseCommon(query: URLSearchParams, selectors: SelectorConfig): ListQuery {
  const limit = parseInteger(query, 'limit');
  const timeoutSeconds = parseInteger(query, 'timeoutSeconds');
  const resourceVersion = query.get('resourceVersion') ?? '';
  return {
    selection: parseSelection(query, selectors),
    limit,
    continue: query.get('continue') ?? '',
    resourceVersion,
    resourceVersionMatch: (query.get('resourceVersionMatch') ??
      '') as ListOptions['resourceVersionMatch'],
    timeoutSeconds,
  };
}

/**
 * The maximum length of a selector. Each term is compared with each object of a list and each event
 * of a watch. Upstream has only the limit of headers.
 */
export const MAX_SELECTOR_LENGTH = 128 * 1024;
const MAX_SELECTOR_TERMS = 1000;

function parseSelection(query: URLSearchParams, selectors: SelectorConfig): Selection {
  const labelText = query.get('labelSelector') ?? '';
  const fieldText = query.get('fieldSelector') ?? '';
  if (labelText === '' && fieldText === '' && selectors.name === '') return everything;
  for (const [name, text] of [
    ['labelSelector', labelText],
    ['fieldSelector', fieldText],
  ] as const) {
    if (text.length > MAX_SELECTOR_LENGTH)
      throw apierrors.badRequest(`${name} must have at most ${MAX_SELECTOR_LENGTH} characters`);
  }
  let labelSelector: labels.Selector;
  let fieldSelector: fields.Selector;
  try {
    labelSelector = labels.parse(labelText);
    fieldSelector = fields.parseSelector(fieldText);
  } catch (error) {
    throw apierrors.badRequest(errorMessage(error));
  }
  for (const [name, selector] of [
    ['labelSelector', labelSelector],
    ['fieldSelector', fieldSelector],
  ] as const) {
    if ((selector.requirements()?.length ?? 0) > MAX_SELECTOR_TERMS)
      throw apierrors.badRequest(`${name} must have at most ${MAX_SELECTOR_TERMS} terms`);
  }
  fieldSelector = fieldSelector.transform((label, value) => ({
    field: selectors.selectableFields.resolve(label),
    value,
  }));
  if (selectors.name !== '') {
    fieldSelector = fields.andSelectors(
      fieldSelector,
      fields.oneTermEqualSelector('metadata.name', selectors.name),
    );
  }
  return new Selection({ labels: labelSelector, fields: fieldSelector });
}

function parseInteger(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null || text === '') return 0;
  // Negative values count as 0, which means no limit.
  return Math.max(integerOf(text), 0);
}

/** Throws BadRequest. */
export function integerOf(text: string): number {
  try {
    return parseInt64(text);
  } catch (error) {
    if (error instanceof IntegerError) throw apierrors.badRequest(error.message);
    throw error;
  }
}

/**
 * Parses a boolean as Kubernetes does in queries: `?x` alone is true, and so is everything but '0'
 * and 'false' in any case (Python clients send 'False').
 */
export function parseBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text !== '0' && text.toLowerCase() !== 'false';
}

const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;

/** The content of a DeleteOptions object or query, before validation. */
export interface RawDeleteOptions {
  readonly dryRun?: readonly string[];
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export function deleteOptionsOfQuery(query: URLSearchParams): RawDeleteOptions {
  const policy = query.get('propagationPolicy');
  return {
    dryRun: query.getAll('dryRun'),
    ...(query.has('gracePeriodSeconds') && {
      gracePeriodSeconds: integerOf(query.get('gracePeriodSeconds')!),
    }),
    ...(policy !== null && policy !== '' && { propagationPolicy: policy }),
    ...(query.has('orphanDependents') && {
      orphanDependents: parseBoolean(query, 'orphanDependents'),
    }),
  };
}

/** Validates the options. Throws StatusError (422). */
export function checkDeleteOptions(options: RawDeleteOptions): Omit<DeleteOptions, 'validate'> {
  const errors: FieldErrorList = [];
  const { propagationPolicy, orphanDependents, gracePeriodSeconds, preconditions } = options;
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    const message = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(field.invalid(new FieldPath('propagationPolicy'), propagationPolicy, message));
  }
  if (
    propagationPolicy !== undefined &&
    !POLICIES.includes(propagationPolicy as (typeof POLICIES)[number])
  ) {
    errors.push(
      field.notSupported(new FieldPath('propagationPolicy'), propagationPolicy, [
        ...POLICIES,
        'nil',
      ]),
    );
  }
  const dryRun = checkDryRun(options.dryRun ?? [], errors);
  if (errors.length > 0)
    throw apierrors.invalid({ group: META_GROUP, kind: 'DeleteOptions' }, '', errors);
  return {
    dryRun,
    // A negative grace period means the shortest one, as upstream.
    ...(gracePeriodSeconds !== undefined && {
      gracePeriodSeconds: gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds,
    }),
    ...(propagationPolicy !== undefined && {
      propagationPolicy: propagationPolicy as (typeof POLICIES)[number],
    }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(preconditions !== undefined && { preconditions }),
  };
}
