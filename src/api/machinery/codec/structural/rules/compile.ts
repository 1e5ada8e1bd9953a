// Compiles the rules of one schema node.

import {
  type CompileError,
  Environment,
  kubernetesLibraries,
  type Program,
  type Schema,
  type Type,
  typeOfSchema,
  types,
} from '#cel/index.ts';
import type { JSONSchemaProps, ValidationRule } from '../json-schema-props.ts';
import { parseFieldPath } from './field-path.ts';

export interface CompiledExpression {
  readonly program: Program;
  /** The maximal cost of one evaluation, if the schema limits the sizes of values. */
  readonly maxCost: number;
}

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Absent: the rule is empty, or has a problem. */
  readonly expression?: CompiledExpression;
  readonly problem?: string;
  readonly usesOldSelf: boolean;
  /** Absent: there is none, or it has a problem. */
  readonly messageExpression?: CompiledExpression;
  readonly messageProblem?: string;
  /** The path below the value at which errors are reported. Absent: the value itself. */
  readonly fieldPath?: string;
}

/** The name of `self`'s type in messages. */
const TYPE_NAME = 'selfType';

/**
 * Returns the type that values of the node have in its rules; undefined: expressions cannot see
 * them. `isResource`: the node is a whole resource, whose kind, version and name are visible, too.
 */
export function typeOfSelf(source: JSONSchemaProps, isResource: boolean): Type | undefined {
  return typeOfSchema(source as Schema, TYPE_NAME, isResource);
}

/** Compiles rules over values of one type. */
export class RuleCompiler {
  readonly #type: Type;
  #environment: Environment | undefined;
  #optionalEnvironment: Environment | undefined;

  constructor(type: Type) {
    this.#type = type;
  }

  compile(rule: ValidationRule, source: JSONSchemaProps): CompiledRule {
    if (rule.rule.trim() === '') return { rule, usesOldSelf: false };
    const environment =
      rule.optionalOldSelf === true ? this.#withOptionalOldSelf() : this.#withOldSelf();
    const compiled = compileExpression(environment, rule.rule, types.BOOL, this.#type);
    if (compiled.error !== undefined) {
      const { error } = compiled;
      const isType = error.reason === 'resultType';
      return {
        rule,
        usesOldSelf: false,
        problem: isType
          ? 'cel expression must evaluate to a bool'
          : `compilation failed: ${error.message}`,
      };
    }
    const at =
      (rule.fieldPath ?? '') === ''
        ? undefined
        : parseFieldPath(rule.fieldPath!, source)?.toString();
    return {
      rule,
      expression: compiled.expression,
      usesOldSelf: compiled.expression.program.variables.includes('oldSelf'),
      ...compileMessage(environment, rule.messageExpression ?? '', this.#type),
      ...(at !== undefined && at !== '' && { fieldPath: at }),
    };
  }

  #withOldSelf(): Environment {
    this.#environment ??= new Environment({
      variables: { self: this.#type, oldSelf: this.#type },
      libraries: kubernetesLibraries,
    });
    return this.#environment;
  }

  #withOptionalOldSelf(): Environment {
    this.#optionalEnvironment ??= new Environment({
      variables: { self: this.#type, oldSelf: types.optional(this.#type) },
      libraries: kubernetesLibraries,
    });
    return this.#optionalEnvironment;
  }
}

type CompiledMessage = Pick<CompiledRule, 'messageExpression' | 'messageProblem'>;

function compileMessage(environment: Environment, source: string, self: Type): CompiledMessage {
  if (source === '') return {};
  const { expression, error } = compileExpression(environment, source, types.STRING, self);
  if (error === undefined) return { messageExpression: expression };
  const isType = error.reason === 'resultType';
  return {
    messageProblem: isType
      ? 'messageExpression must evaluate to a string'
      : `messageExpression compilation failed: ${error.message}`,
  };
}

type Compiled =
  | { readonly expression: CompiledExpression; readonly error?: undefined }
  | { readonly expression?: undefined; readonly error: CompileError };

/** Compiles an expression. `self`: the type of the value, for the cost estimate. */
function compileExpression(
  environment: Environment,
  source: string,
  resultType: Type,
  self: Type,
): Compiled {
  const { program, error, estimate } = environment.compile(source, {
    resultType,
    exactResult: true,
    estimateOver: self,
  });
  return program === undefined
    ? { error }
    : { expression: { program, maxCost: estimate?.max ?? 0 } };
}
