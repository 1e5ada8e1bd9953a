// A compiled expression, and its evaluation: in one turn of the event loop, or in several.

import { nextTurn, type Steps } from '#machinery/turn.ts';
import { adapterOf } from './adapt.ts';
import type { Expression } from './ast.ts';
import { Frame, PER_CALL_LIMIT, type Budget } from './cost.ts';
import { EvaluationError, Suspension } from './errors.ts';
import type { Plan } from './planner.ts';
import { Progress, TURN_WORK } from './progress.ts';
import type { Type } from './types.ts';
import type { Value } from './values.ts';
import { countingWork, Work } from './work-limit.ts';

export type Evaluation =
  | { readonly value: Value; readonly error?: undefined; readonly cost: number }
  | { readonly value?: undefined; readonly error: EvaluationError; readonly cost: number };

export interface EvaluateOptions {
  /** The cost limit of this evaluation. Default: Kubernetes' limit, 1,000,000. */
  readonly costLimit?: number;
  /** The budget of several evaluations. The cost is subtracted from it, possibly below zero. */
  readonly budget?: Budget;
  /** The work of one turn of an evaluation in steps, in units of cost. Default: TURN_WORK. */
  readonly turnWork?: number;
}

/**
 * The values of variables, by name. API objects are passed unchanged; the declared types determine
 * how they are read.
 */
export type Activation = Readonly<Record<string, unknown>>;

/** A compiled expression. It can be evaluated any number of times. */
export class Program {
  readonly source: string;
  readonly expression: Expression;
  /** dyn if the type is only known at run time. */
  readonly resultType: Type;
  readonly #plan: Plan;
  /** The initial slots: copying them is much faster than creating them. */
  readonly #slots: readonly Value[];
  readonly #variables: readonly {
    readonly name: string;
    readonly slot: number;
    readonly adapt: (raw: unknown) => Value;
  }[];

  constructor(
    source: string,
    expression: Expression,
    resultType: Type,
    plan: Plan,
    typeOfVariable: (name: string) => Type,
  ) {
    this.source = source;
    this.expression = expression;
    this.resultType = resultType;
    this.#plan = plan;
    this.#slots = Array.from({ length: plan.slots });
    this.#variables = plan.variables.map(({ name, slot }) => ({
      name,
      slot,
      adapt: adapterOf(typeOfVariable(name)),
    }));
  }

  /** The variables that the program reads. */
  get variables(): readonly string[] {
    return this.#variables.map(({ name }) => name);
  }

  /** Evaluates in turns of the event loop, with values that may be asynchronous: an authorizer. */
  async evaluateAsync(activation: Activation, options: EvaluateOptions = {}): Promise<Evaluation> {
    const run = this.start(activation, options);
    for (;;) {
      try {
        return run.proceed();
      } catch (error) {
        if (!(error instanceof Suspension)) throw error;
        await (error.answer ?? nextTurn());
      }
    }
  }

  /** Evaluates in steps, each of about `turnWork`. Throws Suspension if a value is not available. */
  *evaluateInSteps(activation: Activation, options: EvaluateOptions = {}): Steps<Evaluation> {
    const run = this.start(activation, options);
    for (;;) {
      try {
        return run.proceed();
      } catch (error) {
        if (!(error instanceof Suspension) || error.answer !== undefined) throw error;
      }
      yield;
    }
  }

  /** Starts an evaluation in several attempts, for values that other evaluations need. */
  start(activation: Activation, options: EvaluateOptions = {}): Run {
    const { turnWork = TURN_WORK, budget } = options;
    return new Run(
      (frame) => this.#evaluate(activation, frame),
      this.#slots,
      limitOf(options),
      budget,
      turnWork,
    );
  }

  /** Evaluates in this turn. Throws Suspension if a value is not available yet. */
  evaluate(activation: Activation, options: EvaluateOptions = {}): Evaluation {
    const frame = new Frame(this.#slots.slice(), limitOf(options));
    const evaluation = countingWork(new Work(), () => this.#evaluate(activation, frame));
    if (options.budget !== undefined) options.budget.remaining -= frame.cost;
    return evaluation;
  }

  #evaluate(activation: Activation, frame: Frame): Evaluation {
    try {
      for (const { name, slot, adapt } of this.#variables) {
        const raw = activation[name];
        if (raw !== undefined) frame.slots[slot] = adapt(raw);
      }
      return { value: this.#plan.step(frame), cost: frame.cost };
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      return { error, cost: frame.cost };
    }
  }
}

function limitOf({ costLimit = PER_CALL_LIMIT, budget }: EvaluateOptions): number {
  return budget === undefined ? costLimit : Math.min(costLimit, Math.max(0, budget.remaining));
}

/**
 * An evaluation in several attempts. Each goes through the expression from its start. The first one
 * records nothing, since nearly all expressions are cheap. Further ones record the results of
 * expensive parts and the positions of loops, which the next attempt continues from.
 */
export class Run {
  readonly #evaluate: (frame: Frame) => Evaluation;
  readonly #slots: readonly Value[];
  readonly #limit: number;
  readonly #budget: Budget | undefined;
  readonly #turnWork: number;
  #progress: Progress | undefined;

  constructor(
    evaluate: (frame: Frame) => Evaluation,
    slots: readonly Value[],
    limit: number,
    budget: Budget | undefined,
    turnWork: number,
  ) {
    this.#evaluate = evaluate;
    this.#slots = slots;
    this.#limit = limit;
    this.#budget = budget;
    this.#turnWork = turnWork;
  }

  /**
   * Continues the evaluation in this turn. The budget is charged when the evaluation ends. Throws
   * Suspension if it needs another turn or a value that is not available yet.
   */
  proceed(): Evaluation {
    const frame = new Frame(this.#slots.slice(), this.#limit, this.#progress ?? this.#turnWork);
    const work = new Work(this.#progress === undefined ? this.#turnWork : undefined);
    this.#progress?.begin(work);
    try {
      const evaluation = countingWork(work, () => this.#evaluate(frame));
      if (this.#budget !== undefined) this.#budget.remaining -= frame.cost;
      return evaluation;
    } catch (error) {
      if (error instanceof Suspension && error.answer === undefined)
        this.#progress ??= new Progress(this.#turnWork);
      throw error;
    }
  }
}
