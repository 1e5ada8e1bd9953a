// What can go wrong with an expression: problems of its text (with positions, shown as cel-go shows them), and errors of evaluating it.

/** A problem found in an expression's text. */
export interface Issue {
  /** Where, in UTF-16 units from the start of the source; -1: no place in particular. */
  readonly offset: number;
  readonly message: string;
}

/** Why an evaluation failed: an ordinary error, which `||` and `&&` may absorb, or the cost ran over a limit. */
export type EvaluationErrorReason = 'error' | 'costLimitExceeded';

export class EvaluationError extends Error {
  readonly reason: EvaluationErrorReason;

  constructor(message: string, reason: EvaluationErrorReason = 'error') {
    super(message);
    this.name = 'EvaluationError';
    this.reason = reason;
  }
}

/** Thrown through an evaluation that has to wait for an answer, which its asker keeps; then it is gone through again. */
export class Suspension extends Error {
  readonly answer: Promise<unknown>;

  constructor(answer: Promise<unknown>) {
    super('the evaluation waits for an answer: use evaluateAsync');
    this.name = 'Suspension';
    this.answer = answer;
  }
}

/** Made without a stack: an expression that fails on each of thousands of devices is no exception, but costs like one. */
export function evaluationError(message: string, reason?: EvaluationErrorReason): EvaluationError {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return new EvaluationError(message, reason);
  } finally {
    Error.stackTraceLimit = limit;
  }
}

export const noSuchOverload = (): EvaluationError => evaluationError('no such overload');
export const noSuchKey = (key: string): EvaluationError => evaluationError(`no such key: ${key}`);

/** Line (from 1) and column (from 0, in code points) of an offset; both -1 if it is no place. */
export function locate(source: string, offset: number): { readonly line: number; readonly column: number } {
  if (offset < 0) return { line: -1, column: -1 };
  const before = source.slice(0, offset);
  const start = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line++;
  return { line, column: before.slice(start).length };
}

/** Nobody reads more than this many problems of one expression. */
const MAX_SHOWN = 100;

/**
 * The problems as text, in the order of their places, each with its line and a mark below the place:
 *
 *     ERROR: <input>:1:5: undeclared reference to 'x' (in container '')
 *      | 1 + x
 *      | ....^
 */
export function formatIssues(source: string, issues: readonly Issue[], description = '<input>'): string {
  const located = issues.map((issue) => ({ ...locate(source, issue.offset), message: issue.message }));
  located.sort((a, b) => a.line - b.line || a.column - b.column);
  const lines = source.split('\n');
  const shown = located.slice(0, MAX_SHOWN).map(({ line, column, message }) => {
    const head = `ERROR: ${description}:${line}:${column + 1}: ${message}`;
    const text = lines[line - 1];
    if (text === undefined) return head;
    const characters = [...text.replaceAll('\t', ' ')];
    // Wide characters get wide marks, so that the mark stands below its place.
    const isWide = (character: string | undefined): boolean => character !== undefined && character > '\x7f';
    const dots = characters.slice(0, column).map((character) => (isWide(character) ? '\uff0e' : '.'));
    return `${head}\n | ${characters.join('')}\n | ${dots.join('')}${isWide(characters[column]) ? '\uff3e' : '^'}`;
  });
  if (located.length > MAX_SHOWN) shown.push(`${located.length - MAX_SHOWN} more errors were truncated`);
  return shown.join('\n');
}

/** What is wrong: the expression, or only that it evaluates to something else than it must. */
export type CompileErrorReason = 'invalid' | 'resultType';

/** An expression that does not compile. The message is what clients are shown, without the prefix that their server puts before it. */
export class CompileError extends Error {
  readonly reason: CompileErrorReason;
  readonly issues: readonly Issue[];

  constructor(source: string, issues: readonly Issue[], reason: CompileErrorReason = 'invalid') {
    super(reason === 'resultType' ? issues.map(({ message }) => message).join('\n') : formatIssues(source, issues));
    this.name = 'CompileError';
    this.reason = reason;
    this.issues = issues;
  }
}
