// The estimated cost of a call beyond its arguments, and the size of its result. The figures are
// upstream's: they decide which rules a CustomResourceDefinition may have.

import { operators, type Expression } from './ast.ts';
import { LIST_CREATE, REGEX_FACTOR, TEXT_FACTOR } from './cost.ts';
import {
  exactly,
  ONE,
  plus,
  scaled,
  times,
  UNBOUNDED,
  UNKNOWN,
  upTo,
  type Range,
} from './estimate-range.ts';
import type { Type } from './types.ts';

/** An argument, or a receiver. */
export interface EstimatedNode {
  readonly expression: Expression;
  readonly type: Type;
  /** Undefined: the size is unknown. */
  readonly size: Range | undefined;
  /** The size of the items, for a list that is part of a variable. */
  readonly itemSize: Range | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

interface Estimated {
  readonly target: EstimatedNode | undefined;
  readonly args: readonly EstimatedNode[];
}

const sizeOf = (node: EstimatedNode | undefined): Range => node?.size ?? UNKNOWN;
const traversal = (size: Range): Range => scaled(size, TEXT_FACTOR);
const fixed = (): CallEstimate => ({ cost: ONE });

/** Estimates a function that reads its first argument, or its receiver. */
const reads = ({ target, args }: Estimated): CallEstimate => ({
  cost: traversal(sizeOf(target ?? args[0])),
});
/** Estimates a function that also creates a text of the same size. */
const transforms = ({ target, args }: Estimated): CallEstimate => {
  const size = sizeOf(target ?? args[0]);
  return { cost: traversal(size), size };
};

function overList({ target }: Estimated): CallEstimate {
  if (target?.type.kind !== 'list') return { cost: traversal(sizeOf(target)) };
  const { element } = target.type;
  const isText = element.kind === 'string' || element.kind === 'bytes';
  const each = isText ? plus(ONE, traversal(target.itemSize ?? UNKNOWN)) : ONE;
  return { cost: times(sizeOf(target), each) };
}

function replaces({ target, args }: Estimated): CallEstimate {
  const [text, old, by] = [sizeOf(target), sizeOf(args[0]), sizeOf(args[1])];
  // An empty text is replaced before each character and at the end. Otherwise each replacement
  // removes the old text.
  const longest =
    old.min === 0
      ? { count: text.max + 1, kept: text.max }
      : by.max <= old.min
        ? { count: 0, kept: text.max }
        : { count: Math.ceil(text.max / old.min), kept: 0 };
  const shortest =
    old.max === 0
      ? { count: text.min + 1, kept: text.min }
      : old.max <= by.min
        ? { count: 0, kept: text.min }
        : { count: Math.ceil(text.min / old.max), kept: 0 };
  const size = plus(times({ min: shortest.count, max: longest.count }, by), {
    min: shortest.kept,
    max: longest.kept,
  });
  return { cost: scaled(text, 2 * TEXT_FACTOR), size };
}

function splits({ target, args }: Estimated): CallEstimate {
  const size = sizeOf(target);
  const limit = args[1]?.expression;
  const max =
    limit?.kind === 'literal' && typeof limit.value === 'number' && limit.value >= 0
      ? limit.value
      : size.max;
  return { cost: scaled(size, 2 * TEXT_FACTOR), size: upTo(max) };
}

function joins({ target, args }: Estimated): CallEstimate {
  const items = sizeOf(target);
  const separators = { min: Math.max(0, items.min - 1), max: Math.max(0, items.max - 1) };
  const size = plus(
    times(items, target?.itemSize ?? UNKNOWN),
    args[0] === undefined ? exactly(0) : times(sizeOf(args[0]), separators),
  );
  return { cost: traversal(size), size };
}

function searches({ target, args }: Estimated): CallEstimate {
  const text = sizeOf(target ?? args[0]);
  const pattern = sizeOf(target === undefined ? args[1] : args[0]);
  return {
    cost: times(traversal(plus(text, ONE)), scaled(pattern, REGEX_FACTOR)),
    size: upTo(text.max),
  };
}

const ADDRESS_BYTES: Range = { min: 4, max: 16 };

const contains =
  (more: Range, textOverload: string) =>
  ({ args }: Estimated, overload: string): CallEstimate => ({
    cost: plus(
      traversal(plus(ADDRESS_BYTES, ADDRESS_BYTES)),
      more,
      overload === textOverload ? traversal(sizeOf(args[0])) : exactly(0),
    ),
  });

/** The length of the longest pattern of a named format. */
const FORMAT_REGEX = 128;

const selects = ({ args }: Estimated): CallEstimate => {
  const size = sizeOf(args[0]);
  return { cost: plus(exactly(10), traversal(size), scaled(scaled(size, 0.5), 50)) };
};

type Estimator = (call: Estimated, overload: string) => CallEstimate;

const each = (names: string, estimator: Estimator): [string, Estimator][] =>
  names.split(' ').map((name) => [name, estimator]);

/** Estimators by the name of the function. */
const BY_NAME: ReadonlyMap<string, Estimator> = new Map<string, Estimator>([
  ['check', () => ({ cost: exactly(350_000) })],
  ...each(
    'serviceAccount path group resource subresource namespace name allowed reason error errored',
    fixed,
  ),
  ...each('fieldSelector labelSelector', selects),
  ...each('isSorted sum max min indexOf lastIndexOf', overList),
  ...each('url jsonpatch.escapeKey', transforms),
  ...each('lowerAscii upperAscii substring trim', transforms),
  ['replace', replaces],
  ['split', splits],
  ['join', joins],
  ...each('find findAll', searches),
  ...each('quantity isQuantity semver isSemver', reads),
  ...each('cidr isIP isCIDR', reads),
  ['ip', (call, overload) => (overload === 'cidr_ip' ? fixed() : reads(call))],
  ['ip.isCanonical', ({ args }) => ({ cost: scaled(sizeOf(args[0]), 2 * TEXT_FACTOR) })],
  ...each(
    'masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast',
    fixed,
  ),
  ['containsIP', contains(exactly(0), 'cidr_contains_ip_string')],
  ['containsCIDR', contains(plus(traversal(ADDRESS_BYTES), ONE), 'cidr_contains_cidr_string')],
  [
    'validate',
    ({ args }) => ({ cost: scaled(traversal(sizeOf(args[0])), FORMAT_REGEX * REGEX_FACTOR) }),
  ],
  ['format.named', fixed],
  ...each(
    'sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch',
    fixed,
  ),
  ...each('getScheme getHostname getHost getPort getEscapedPath getQuery', fixed),
]);

function compares({ args }: Estimated): CallEstimate {
  const max = Math.min(sizeOf(args[0]).max, sizeOf(args[1]).max);
  return { cost: traversal({ min: max > 0 ? 1 : 0, max }) };
}

function concatenates({ args }: Estimated): CallEstimate {
  const size = plus(sizeOf(args[0]), sizeOf(args[1]));
  return { cost: traversal(size), size };
}

const productOfArguments =
  (factor: number) =>
  ({ args }: Estimated): CallEstimate => ({
    cost: plus(ONE, scaled(times(sizeOf(args[0]), sizeOf(args[1])), factor)),
  });

/** Returns the estimate of a call that creates a list. */
const allocates = (size: Range, factor: number): CallEstimate => ({
  cost: plus(scaled(size, factor), exactly(1 + LIST_CREATE)),
  size,
});

/** Returns the value of an int literal; undefined for other expressions. */
function writtenInt(node: EstimatedNode | undefined): number | undefined {
  const literal = node?.expression;
  if (literal?.kind !== 'literal') return undefined;
  const { value } = literal;
  return typeof value === 'number' || typeof value === 'bigint'
    ? Math.max(0, Number(value))
    : undefined;
}

const squared = (node: EstimatedNode | undefined, factor: number): CallEstimate =>
  allocates(times(sizeOf(node), sizeOf(node)), factor);

/** Subtracts like upstream's unsigned 64-bit integers, which wrap below zero. */
const difference = (a: number, b: number): number => (a < b ? UNBOUNDED : a - b);

const TEXTS = ['string', 'bytes'];
const COMPARABLE = [
  'int',
  'uint',
  'double',
  'bool',
  'google.protobuf.Duration',
  'google.protobuf.Timestamp',
  ...TEXTS,
];

/** Estimators of functions that derive lists from lists. */
const LIST_TRANSFORMS: readonly [string, Estimator][] = [
  [
    'list_slice',
    ({ target, args }) =>
      allocates(
        exactly(difference(writtenInt(args[1]) ?? sizeOf(target).max, writtenInt(args[0]) ?? 0)),
        1,
      ),
  ],
  ['lists_range', ({ args }) => allocates(exactly(writtenInt(args[0]) ?? UNBOUNDED), 1)],
  ['list_reverse', ({ target }) => allocates(sizeOf(target), 1)],
  ['list_flatten', ({ target }) => allocates(sizeOf(target), 1)],
  [
    'list_flatten_int',
    ({ target, args }) => allocates(sizeOf(target), writtenInt(args[0]) ?? UNBOUNDED),
  ],
  ['list_distinct', ({ target }) => squared(target, 2)],
  ...COMPARABLE.flatMap((type): [string, Estimator][] => {
    const factor = TEXTS.includes(type) ? 2.1 : 2;
    return [
      [`list_${type}_sort`, ({ target }) => squared(target, factor)],
      [`list_${type}_sortByAssociatedKeys`, ({ args }) => squared(args[0], factor)],
    ];
  }),
];

/** Estimators by overload, where the function's name is not enough. */
const BY_OVERLOAD: ReadonlyMap<string, Estimator> = new Map<string, Estimator>([
  [
    'string_to_bytes',
    (call) => ({
      ...reads(call),
      size: { min: sizeOf(call.args[0]).min, max: sizeOf(call.args[0]).max * 4 },
    }),
  ],
  [
    'bytes_to_string',
    (call) => ({
      ...reads(call),
      size: { min: Math.floor(sizeOf(call.args[0]).min / 4), max: sizeOf(call.args[0]).max },
    }),
  ],
  [
    'strings_quote',
    (call) => ({
      ...reads(call),
      size: { min: sizeOf(call.args[0]).min + 2, max: sizeOf(call.args[0]).max * 2 + 2 },
    }),
  ],
  ['string_format', reads],
  ...each('starts_with_string ends_with_string', ({ args }) => ({
    cost: traversal(sizeOf(args[0])),
  })),
  ['in_list', ({ args }) => ({ cost: sizeOf(args[1]) })],
  ...each('matches matches_string', (call) => ({ cost: searches(call).cost })),
  [
    'contains_string',
    ({ target, args }) => ({ cost: times(traversal(sizeOf(target)), traversal(sizeOf(args[0]))) }),
  ],
  ...each('add_string add_bytes', concatenates),
  ['add_list', (call) => ({ cost: ONE, size: concatenates(call).size })],
  ...each('less_string less_equals_string greater_string greater_equals_string', compares),
  ...each(
    'less_bytes less_equals_bytes greater_bytes greater_equals_bytes equals not_equals',
    compares,
  ),
  ...each('list_sets_contains_list list_sets_intersects_list', productOfArguments(1)),
  ['list_sets_equivalent_list', productOfArguments(2)],
  ...LIST_TRANSFORMS,
]);

/** Types whose values compare in constant time, whatever the length of their text. */
const OPAQUE_EQUALITY = /^(?:net\.|kubernetes\.)/;

export function estimateCall(name: string, overload: string, call: Estimated): CallEstimate {
  if (name === operators.equals) {
    const [left, right] = call.args.map(({ type }) => type);
    if (
      left?.kind === 'opaque' &&
      right?.kind === 'opaque' &&
      left.name === right.name &&
      OPAQUE_EQUALITY.test(left.name)
    ) {
      return fixed();
    }
  }
  const estimator = BY_NAME.get(name) ?? BY_OVERLOAD.get(overload);
  return estimator === undefined ? fixed() : estimator(call, overload);
}
