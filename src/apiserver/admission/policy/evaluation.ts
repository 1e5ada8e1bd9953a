// Evaluates the expressions of one policy for one request: it provides their variables, and
// enforces the cost budget.

import type { CompiledExpression } from '#api/groups/admissionregistration/v1/expressions.ts';
import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  authorizerValue,
  Budget,
  evaluationError,
  LazyMap,
  requestResourceValue,
  type Run,
  type Value,
} from '#cel/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import { expressionAuthorizer } from './authorizer.ts';
import type { CelMetrics } from './cel-metrics.ts';
import type { PolicyRequest, ResourceAndKind, VersionedObjects } from './request.ts';
import { requestValue } from './request-value.ts';

/** An expression of a policy. A compilation error is reported when the expression is needed. */
export interface Expression {
  readonly source: string;
  readonly compiled: CompiledExpression;
}

export interface Variable extends Expression {
  readonly name: string;
}

export type Outcome =
  | { readonly value: Value; readonly problem?: undefined }
  | { readonly problem: string };

/** After an expression of this cost, some milliseconds, the event loop gets a turn. */
const LONG_COST = 20_000;

/** The expressions of a policy have exceeded their cost budget together. */
export class OutOfBudgetError extends Error {
  constructor() {
    super(
      'validation failed due to running out of cost budget, no further validation rules will be run',
    );
    this.name = 'OutOfBudgetError';
  }
}

export interface EvaluationConfig {
  readonly request: PolicyRequest;
  /** The resource and kind by which the policy matched the request. */
  readonly matched: ResourceAndKind;
  readonly objects: VersionedObjects;
  /** The parameter object. Default: `params` is null. */
  readonly params?: KubeObject | null;
  /** The namespace of the object. Default: `namespaceObject` is null. */
  readonly namespace?: Immutable<Namespace>;
  /** The authorizer for expressions. Absent: they have none. */
  readonly authorizer?: Authorizer;
  readonly variables?: readonly Variable[];
  /** Where evaluation times are recorded. */
  readonly metrics: CelMetrics;
}

export class Evaluation {
  readonly #activation: Record<string, unknown>;
  readonly #metrics: CelMetrics;
  /**
   * The budget of the current evaluation. It also pays for variables that the evaluation is the
   * first to use.
   */
  #budget = new Budget();

  constructor(config: EvaluationConfig) {
    const {
      request,
      matched,
      objects,
      params = null,
      namespace,
      authorizer,
      variables = [],
    } = config;
    this.#metrics = config.metrics;
    this.#activation = {
      object: objects.object ?? null,
      oldObject: objects.oldObject ?? null,
      params,
      request: requestValue(request, matched),
      namespaceObject: namespace === undefined ? null : withoutOwners(namespace),
    };
    if (authorizer !== undefined) {
      const value = authorizerValue(expressionAuthorizer(authorizer, request.attributes.user));
      const { resource, subresource, name } = request.attributes;
      this.#activation['authorizer'] = value;
      this.#activation['authorizer.requestResource'] = requestResourceValue(value, {
        group: resource.group,
        resource: resource.resource,
        subresource,
        namespace: request.namespace,
        name,
      });
    }
    this.#activation['variables'] = new LazyMap(
      new Map(variables.map((variable) => [variable.name, this.#variable(variable)])),
    );
  }

  /**
   * Evaluates an expression and charges the budget. Throws OutOfBudgetError when the budget is
   * exceeded.
   */
  async evaluate({ source, compiled }: Expression, budget: Budget): Promise<Outcome> {
    if (compiled.program === undefined)
      return { problem: `compilation error: ${compiled.problem}` };
    this.#budget = budget;
    const { program } = compiled;
    const before = budget.remaining;
    const { value, error } = await this.#metrics.evaluate(() =>
      program.evaluateAsync(this.#activation, { budget }),
    );
    if (budget.exhausted) throw new OutOfBudgetError();
    // A policy may have many expressions of the maximum cost.
    if (before - budget.remaining > LONG_COST) await nextTurn();
    if (error !== undefined)
      return { problem: `expression '${source}' resulted in error: ${error.message}` };
    return { value };
  }

  /**
   * Returns a function that returns the value of a variable. The function throws EvaluationError, or
   * Suspension if the value takes several turns; called again, it continues.
   */
  #variable({ name, compiled }: Variable): () => Value {
    let run: Run | undefined;
    return () => {
      if (compiled.program === undefined) {
        throw evaluationError(
          `composited variable ${quote(name)} fails to compile: ${compiled.problem}`,
        );
      }
      run ??= compiled.program.start(this.#activation, { budget: this.#budget });
      const { value, error } = run.proceed();
      if (error === undefined) return value;
      throw evaluationError(
        `composited variable ${quote(name)} fails to evaluate: ${error.message}`,
      );
    };
  }
}

/**
 * Returns the namespace without managed fields and owner references, which expressions do not see.
 */
function withoutOwners(namespace: Immutable<Namespace>): object {
  const { managedFields: _fields, ownerReferences: _owners, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}
