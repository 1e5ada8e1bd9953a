// cel-spec's conformance tests, all files of them. Skipped tests are listed by name, with the
// reason.
import { runSteps } from '#machinery/turn.ts';
import { describe, expect, test } from 'vitest';
import type { Library, Overload } from './declarations.ts';
import { Environment } from './environment.ts';
import { equals } from './equality.ts';
import { allLibraries } from './library/index.ts';
import { conformanceTests, readType, readValue, type ConformanceTest } from './testing/suite.ts';
import { formatType, type Type } from './types.ts';
import { Double, runtimeTypeName, type Value } from './values.ts';

/**
 * Fields of values without fields are absent, not errors: cel-go has an option for the error, which
 * Kubernetes does not set.
 */
const WITHOUT_ERROR: ReadonlySet<string> = new Set([
  'optionals/optionals/map_null_entry_no_such_key',
  'optionals/optionals/map_present_key_invalid_field',
]);

/** The reasons for skipped tests, by a pattern of their content. */
const UNSUPPORTED: readonly [RegExp, string][] = [
  [
    /TestAllTypes|TestRequired|NestedEnum|GlobalEnum|proto\.(hasExt|getExt)/,
    'protobuf messages: Kubernetes has none in expressions',
  ],
  [
    /google\.protobuf\.\w*(Value|Struct|Any|Empty|FieldMask)|NullValue\./,
    'protobuf wrappers and JSON messages',
  ],
  [/^block_ext\//, 'cel.block is made by optimizers, not written'],
  [/^proto2\//, 'protobuf messages: Kubernetes has none in expressions'],
];

function unsupported(it: ConformanceTest): string | undefined {
  const text = [it.path, it.expr, JSON.stringify([it.typeEnv, it.bindings, it.value ?? null])].join(
    '\n',
  );
  return UNSUPPORTED.find(([pattern]) => pattern.test(text))?.[1];
}

interface Declaration {
  readonly name: string;
  readonly ident?: { readonly type: Record<string, unknown> };
  readonly function?: {
    readonly overloads: readonly {
      readonly overloadId: string;
      readonly isInstanceFunction?: boolean;
      readonly params?: readonly Record<string, unknown>[];
      readonly resultType: Record<string, unknown>;
    }[];
  };
}

function environmentOf(it: ConformanceTest): Environment {
  const variables: Record<string, Type> = {};
  const functions: Record<string, readonly Overload[]> = {};
  for (const declaration of it.typeEnv as unknown as readonly Declaration[]) {
    if (declaration.ident !== undefined)
      variables[declaration.name] = readType(declaration.ident.type);
    functions[declaration.name] = (declaration.function?.overloads ?? []).map((overload) => ({
      id: overload.overloadId,
      member: overload.isInstanceFunction === true,
      parameters: (overload.params ?? []).map(readType),
      result: readType(overload.resultType),
      call: () => {
        throw new Error('declared only to be checked');
      },
    }));
  }
  const declared: Library = {
    name: 'test',
    functions: Object.fromEntries(
      Object.entries(functions).filter(([, overloads]) => overloads.length > 0),
    ),
  };
  return new Environment({
    variables,
    libraries: [...allLibraries, declared],
    container: it.container,
    homogeneousLiterals: false,
    quotedNames: true,
  });
}

const same = (actual: Value, wanted: Value): boolean => {
  if (runtimeTypeName(actual) !== runtimeTypeName(wanted)) return false;
  const bothNaN =
    actual instanceof Double &&
    wanted instanceof Double &&
    Number.isNaN(actual.value) &&
    Number.isNaN(wanted.value);
  return bothNaN || equals(actual, wanted);
};

/** Runs a test. Returns undefined if it passes. */
function run(it: ConformanceTest): string | undefined {
  const { program, error } = environmentOf(it).compile(it.expr, { unchecked: it.disableCheck });
  if (program === undefined) return it.fails ? undefined : error.message;
  if (it.deducedType !== undefined) {
    const wanted = formatType(readType(it.deducedType as Record<string, unknown>));
    if (formatType(program.resultType) !== wanted)
      return `deduced ${formatType(program.resultType)}, not ${wanted}`;
  }
  if (it.checkOnly) return undefined;
  const activation = Object.fromEntries(
    Object.entries(it.bindings).map(([name, binding]) => [
      name,
      readValue(binding.value as Record<string, unknown>),
    ]),
  );
  const result = program.evaluate(activation);
  const stepwise = runSteps(program.evaluateInSteps(activation, { turnWork: 1 }));
  if (stepwise.cost !== result.cost) return `it costs ${stepwise.cost} in steps`;
  if (stepwise.error?.message !== result.error?.message || !same(stepwise.value, result.value))
    return `it evaluated to ${String(stepwise.value ?? stepwise.error)} in steps`;
  if (WITHOUT_ERROR.has(it.path)) return result.value === false ? undefined : 'it has a value';
  if (it.fails) return result.error === undefined ? 'it evaluated, and should not' : undefined;
  if (result.error !== undefined) return result.error.message;
  const wanted = it.value === undefined ? true : readValue(it.value);
  return same(result.value, wanted) ? undefined : `it evaluated to ${String(result.value)}`;
}

const files = new Map<string, ConformanceTest[]>();
for (const it of conformanceTests()) {
  const file = it.path.split('/')[0]!;
  files.set(file, [...(files.get(file) ?? []), it]);
}

test('skipped tests, with reasons', () => {
  const left: Record<string, number> = {};
  for (const it of [...files.values()].flat()) {
    const reason = unsupported(it);
    if (reason !== undefined) left[reason] = (left[reason] ?? 0) + 1;
  }
  expect(left).toEqual({
    'protobuf messages: Kubernetes has none in expressions': 593,
    'protobuf wrappers and JSON messages': 100,
    'cel.block is made by optimizers, not written': 25,
  });
});

/** The number of tests that run, so that none is lost unnoticed. */
const EXPECTED: Readonly<Record<string, number>> = {
  basic: 43,
  bindings_ext: 5,
  comparisons: 334,
  conversions: 109,
  encoders_ext: 4,
  fields: 60,
  fp_math: 30,
  integer_math: 64,
  lists: 39,
  logic: 30,
  math_ext: 199,
  macros: 44,
  macros2: 46,
  namespace: 3,
  optionals: 59,
  parse: 193,
  plumbing: 5,
  string: 51,
  string_ext: 206,
  timestamps: 76,
  type_deductions: 26,
};

describe('cel-spec', () => {
  test.each([...files])('%s', (file, tests) => {
    const failures: string[] = [];
    let passed = 0;
    for (const it of tests) {
      if (unsupported(it) !== undefined) continue;
      const failure = run(it);
      if (failure === undefined) passed++;
      else failures.push(`${it.path}: ${it.expr}: ${failure}`);
    }
    expect(failures).toEqual([]);
    expect(passed).toBe(EXPECTED[file] ?? 0);
  });
});
