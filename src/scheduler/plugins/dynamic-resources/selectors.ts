// Evaluates CEL selectors of devices: `device.driver == "gpu.example.com" &&
// device.capacity["gpu.example.com"].memory.isGreaterThan(…)`.

import { AbstractMap, type Program, type Value } from '#cel/index.ts';
import { QuantityValue } from '#cel/library/quantity.ts';
import { tryParseSemver } from '#cel/library/semver.ts';
import type { DeviceAttribute } from '#api/groups/resource/v1/index.ts';
import { selectorEnvironment } from '#api/groups/resource/v1/validation/selectors.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { Steps } from '#machinery/turn.ts';
import type { Device } from './objects.ts';

/**
 * Expressions are few: of classes, and repeated ones of claims. Bounded, since users write them.
 */
const MAX_PROGRAMS = 1000;
const programs = new Map<string, Program | Error>();

/** An error of a selector. The message begins with the kind of the object. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SelectorError';
  }
}

function programOf(expression: string): Program | Error {
  let program = programs.get(expression);
  if (program === undefined) {
    const compiled = selectorEnvironment.compile(expression);
    program = compiled.program ?? compiled.error;
    if (programs.size >= MAX_PROGRAMS) programs.clear();
    programs.set(expression, program);
  }
  return program;
}

/** Results by device (which is immutable: another version is another object) and expression. */
const answers = new WeakMap<Device, Map<string, boolean | SelectorError>>();

/** Reports whether the result for this device is known without evaluating the selector. */
export function isKnown(expression: string, of: Device): boolean {
  return answers.get(of)?.has(expression) === true;
}

/** Evaluates a selector; an expensive one in several steps. Throws SelectorError. */
export function* selects(expression: string, driver: string, of: Device): Steps<boolean> {
  let known = answers.get(of);
  if (known === undefined) {
    known = new Map();
    answers.set(of, known);
  }
  let answer = known.get(expression);
  if (answer === undefined) {
    answer = yield* evaluate(expression, driver, of);
    if (known.size >= MAX_PROGRAMS) known.clear();
    known.set(expression, answer);
  }
  if (answer instanceof SelectorError) throw answer;
  return answer;
}

function* evaluate(expression: string, driver: string, of: Device): Steps<boolean | SelectorError> {
  const program = programOf(expression);
  if (program instanceof Error) return new SelectorError(`CEL compile error: ${program.message}`);
  const { value, error } = yield* program.evaluateInSteps({ device: asSeen(driver, of) });
  if (error !== undefined) return new SelectorError(`CEL runtime error: ${error.message}`);
  if (typeof value === 'boolean') return value;
  return new SelectorError('CEL runtime error: the result could not be converted to bool');
}

/** Returns the device as CEL sees it. Names without a domain belong to the driver's domain. */
function asSeen(driver: string, { attributes, capacity, allowMultipleAllocations }: Device) {
  return {
    driver,
    attributes: new Domains(driver, attributes ?? {}, valueOf),
    capacity: new Domains(
      driver,
      capacity ?? {},
      ({ value }) => new QuantityValue(parseQuantity(value)),
    ),
    allowMultipleAllocations: allowMultipleAllocations ?? false,
  };
}

function valueOf({ int, bool, string, version }: Immutable<DeviceAttribute>): Value {
  return (
    int ?? bool ?? string ?? (version === undefined ? undefined : tryParseSemver(version)) ?? null
  );
}

const NOTHING: Readonly<Record<string, Value>> = {};

/**
 * Values by domain, then by name. A domain without values is empty, so that reading it is not an
 * error.
 */
class Domains<T> extends AbstractMap {
  readonly #byDomain = new Map<string, Record<string, Value>>();

  constructor(driver: string, entries: Readonly<Record<string, T>>, value: (entry: T) => Value) {
    super();
    for (const [qualified, entry] of Object.entries(entries)) {
      const slash = qualified.indexOf('/');
      const domain = slash < 0 ? driver : qualified.slice(0, slash);
      const names = this.#byDomain.get(domain) ?? {};
      Object.defineProperty(names, qualified.slice(slash + 1), {
        value: value(entry),
        enumerable: true,
        configurable: true,
      });
      this.#byDomain.set(domain, names);
    }
  }

  get size(): number {
    return this.#byDomain.size;
  }

  get(key: Value): Value {
    return typeof key === 'string' ? (this.#byDomain.get(key) ?? NOTHING) : undefined;
  }

  override has(key: Value): boolean {
    return typeof key === 'string' && this.#byDomain.has(key);
  }

  keys(): Iterable<Value> {
    return this.#byDomain.keys();
  }
}
