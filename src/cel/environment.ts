// An environment: the variables and libraries that expressions may use. It compiles expressions to
// programs.
//
//     const env = new Environment({
//       variables: { device: deviceType },
//       libraries: kubernetesLibraries,
//     });
//     const { program, error } = env.compile('device.driver == "a.example"', { resultType: BOOL });
//     const { value, error } = program.evaluate({ device });

import type { Expression } from './ast.ts';
import { check, type Checked, type Declarations, type NamedValue } from './checker.ts';
import type { Library } from './declarations.ts';
import { CompileError, type CompileErrorReason, type Issue } from './errors.ts';
import { estimateCost } from './estimate.ts';
import type { Range } from './estimate-range.ts';
import { checkLiterals } from './literals.ts';
import { parse, PARSER_LIMITS, type Parsed, type ParserLimits } from './parser.ts';
import { plan } from './planner.ts';
import { Program } from './program.ts';
import { tablesOf, type Tables } from './tables.ts';
import { DYN, formatType, sameType, typeOf, type Type } from './types.ts';
import { isDyn } from './unify.ts';
import { TypeValue } from './values.ts';

export interface EnvironmentConfig {
  /** Names (possibly with dots) and their types. */
  readonly variables?: Readonly<Record<string, Type>>;
  /** The libraries in addition to the standard one. */
  readonly libraries?: readonly Library[];
  /** Names are resolved in this package first, then in its parents. Default: ''. */
  readonly container?: string;
  /**
   * Require that the items of a list or map literal have one type. Default: true, as in Kubernetes.
   */
  readonly homogeneousLiterals?: boolean;
  /**
   * Allow comparisons of different number types, such as `1 < 1.5`. Default: true, as in
   * Kubernetes.
   */
  readonly crossTypeComparisons?: boolean;
  /** Allow field names in backticks. Default: false, as in Kubernetes. */
  readonly quotedNames?: boolean;
  /** The limits of expressions; see PARSER_LIMITS for the defaults. */
  readonly limits?: Partial<ParserLimits>;
}

export interface CompileOptions {
  /** The allowed result types, in addition to dynamic. Absent: any. */
  readonly resultType?: Type | readonly Type[];
  /** Reject a dynamic result, as admission policies do. Default: false. */
  readonly exactResult?: boolean;
  /** Skip the type checker: all types are checked at run time. Default: false. */
  readonly unchecked?: boolean;
  /**
   * Estimates the cost of evaluation over a variable of this type; see `estimateCost`. Default: no
   * estimate.
   */
  readonly estimateOver?: Type;
}

export type Compilation =
  | { readonly program: Program; readonly error?: undefined; readonly estimate?: Range | undefined }
  | { readonly program?: undefined; readonly error: CompileError; readonly estimate?: undefined };

const NO_LIBRARIES: readonly Library[] = [];

/** An immutable environment. */
export class Environment {
  readonly #config: EnvironmentConfig;
  readonly #tables: Tables;
  readonly #variables = new Map<string, NamedValue>();
  readonly #declarations: Declarations;

  constructor(config: EnvironmentConfig = {}) {
    this.#config = config;
    this.#tables = tablesOf(config.libraries ?? NO_LIBRARIES, config.crossTypeComparisons ?? true);
    for (const [name, type] of Object.entries(config.variables ?? {}))
      this.#variables.set(name, { name, type });
    const container = config.container ?? '';
    this.#declarations = {
      container,
      lookupName: (name) =>
        firstOf(candidates(container, name), (candidate) => this.#lookup(candidate)),
      lookupFunction: (name) =>
        firstOf(candidates(container, name), (candidate) => {
          const overloads = this.#tables.functions.get(candidate);
          return overloads === undefined ? undefined : { name: candidate, overloads };
        }),
    };
  }

  #lookup(name: string): NamedValue | undefined {
    const declaredType = this.#variables.get(name) ?? this.#tables.names.get(name);
    if (declaredType !== undefined) return declaredType;
    const type = firstOf(this.#tables.resolvers, (resolve) => resolve(name));
    return type === undefined
      ? undefined
      : { name, type: typeOf(type), constant: { value: new TypeValue(name) } };
  }

  /**
   * Returns an environment with additional variables and libraries. Other settings are replaced.
   */
  extend(config: EnvironmentConfig): Environment {
    const own = this.#config.libraries ?? NO_LIBRARIES;
    return new Environment({
      ...this.#config,
      ...config,
      variables: { ...this.#config.variables, ...config.variables },
      libraries: config.libraries === undefined ? own : [...own, ...config.libraries],
    });
  }

  parse(source: string): Parsed {
    const limits = { ...PARSER_LIMITS, ...this.#config.limits };
    return parse(source, {
      macros: this.#tables.macros,
      optionalSyntax: this.#tables.optionalSyntax,
      quotedNames: this.#config.quotedNames ?? false,
      ...limits,
    });
  }

  /** Checks an expression, for tools and tests. Returns the types of its parts. */
  check(expression: Expression): Checked {
    return check(expression, this.#declarations);
  }

  compile(source: string, options: CompileOptions = {}): Compilation {
    const { expression, issues } = this.parse(source);
    const fail = (problems: readonly Issue[], reason?: CompileErrorReason): Compilation => ({
      error: new CompileError(source, problems, reason),
    });
    if (expression === undefined) return fail(issues);
    const checked: Checked =
      options.unchecked === true
        ? { types: new Map(), references: this.#guess(expression), issues: [] }
        : this.check(expression);
    if (checked.issues.length > 0) return fail(checked.issues);
    const homogeneous = this.#config.homogeneousLiterals ?? true;
    const unreadable =
      options.unchecked === true ? [] : checkLiterals(expression, checked.types, homogeneous);
    if (unreadable.length > 0) return fail(unreadable);
    const resultType = checked.types.get(expression) ?? DYN;
    const problem = wrongResult(resultType, options);
    if (problem !== undefined)
      return fail([{ offset: expression.offset, message: problem }], 'resultType');
    const planned = plan(expression, {
      checked,
      overloadsOf: (name) => this.#declarations.lookupFunction(name)?.overloads ?? [],
    });
    const program = new Program(
      source,
      expression,
      resultType,
      planned,
      (name) => this.#variables.get(name)?.type ?? DYN,
    );
    const { estimateOver } = options;
    return estimateOver === undefined
      ? { program }
      : { program, estimate: estimateCost(expression, checked, estimateOver) };
  }

  /**
   * Returns the minimal and maximal cost of evaluation. It is as precise as the variables' types
   * describe sizes (those of `typeOfSchema` do). The source must compile.
   */
  estimateCost(source: string): Range {
    const { expression, issues } = this.parse(source);
    if (expression === undefined) throw new CompileError(source, issues);
    const checked = this.check(expression);
    if (checked.issues.length > 0) throw new CompileError(source, checked.issues);
    return estimateCost(expression, checked);
  }

  /** Returns the references of an unchecked expression: its declared names. */
  #guess(expression: Expression): Checked['references'] {
    return check(expression, this.#declarations).references;
  }
}

function wrongResult(
  actual: Type,
  { resultType, exactResult }: CompileOptions,
): string | undefined {
  if (resultType === undefined || (isDyn(actual) && exactResult !== true)) return undefined;
  const types = 'kind' in resultType ? [resultType] : resultType;
  if (types.some((type) => sameType(actual, type))) return undefined;
  const names = types.map(formatType);
  return names.length === 1
    ? `must evaluate to ${names[0]}`
    : `must evaluate to one of [${names.join(' ')}]`;
}

/** Returns the names to which a name may resolve in a container, in the order of attempts. */
function candidates(container: string, name: string): string[] {
  if (name.startsWith('.')) return [name.slice(1)];
  const names: string[] = [];
  for (
    let scope = container;
    scope !== '';
    scope = scope.slice(0, Math.max(0, scope.lastIndexOf('.')))
  ) {
    names.push(`${scope}.${name}`);
  }
  return [...names, name];
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const match = find(item);
    if (match !== undefined) return match;
  }
  return undefined;
}
