// Validates values by the keywords of a schema, in upstream's order and with its messages. A
// validator is compiled per schema node on first use. The additional rules of embedded resources
// and lists with keys are in embedded.ts and lists.ts.

import type { JSONSchemaProps } from './json-schema-props.ts';
import { deepEqual, isPlainObject, stableStringify } from '#machinery/deep.ts';
import { marshalJson, quote } from '#machinery/text/go-format.ts';
import * as field from '#machinery/validation/field.ts';
import type { RE2JS } from 're2js';
import type { Correlation } from './correlation.ts';
import { checkOfFormat, formatOf } from './formats.ts';
import { isInt64, nearestInt64, passesForInteger } from './go-numbers.ts';
import { type NumberRules, validateNumber } from './numbers.ts';
import { compilePattern } from '#machinery/text/pattern.ts';
import { isSchema } from './structural-schema.ts';
import {
  errorAt,
  invalidValue,
  schemaError,
  type ValueError,
  ValueErrors,
  wrongType,
} from './value-errors.ts';

/**
 * The work limit of one validation, in checked values and matched characters. Upstream has no
 * limit; a schema with many alternatives and an object with many values would occupy it for
 * minutes. The largest objects have 50,000 values.
 */
const MAX_WORK = 2_000_000;
/** The number of matched characters that take as long as one checked value. */
const CHARACTERS_PER_STEP = 16;

/** One validation of one value. */
export class ValidationRun {
  #work = 0;
  /** Names and indices on the path to the value. */
  readonly #path: string[] = [];

  /** The path, such as 'spec.list[0].name'; '' for the validated value itself. */
  get path(): string {
    return this.#path.join('');
  }

  /** The number of names and indices on the path to the value. */
  get depth(): number {
    return this.#path.length;
  }

  field(name: string): void {
    this.#path.push(this.#path.length === 0 ? name : `.${name}`);
  }

  item(index: number): void {
    this.#path.push(`[${index}]`);
  }

  pop(): void {
    this.#path.pop();
  }

  /** Counts work before it is done. Returns false if it exceeds the limit. */
  spend(work: number): boolean {
    this.#work += work;
    return this.#work <= MAX_WORK;
  }

  get isExhausted(): boolean {
    return this.#work > MAX_WORK;
  }
}

export interface ValueRules {
  /**
   * Validate objects: `x-kubernetes-int-or-string` restricts the type, and unknown formats are
   * ignored. False for defaults.
   */
  readonly ofObjects: boolean;
}

/** Returns the type of a value, with upstream's names. */
function typeOfValue(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'number':
      return isInt64(value) ? 'integer' : 'number';
    case 'bigint':
      return 'integer';
    default:
      return 'object';
  }
}

/**
 * Checks one value. Returns the number of passed checks: of several alternatives, the one that got
 * farthest is reported.
 */
export class ValueValidator {
  readonly #source: JSONSchemaProps;
  readonly #rules: ValueRules;
  readonly #types: readonly string[];
  readonly #format: string;
  readonly #numbers: NumberRules;
  #parts: CompiledParts | undefined;

  constructor(source: JSONSchemaProps, rules: ValueRules) {
    this.#source = source;
    this.#rules = rules;
    const type = source.type ?? '';
    const isIntOrString = rules.ofObjects && source['x-kubernetes-int-or-string'] === true;
    this.#types = isIntOrString ? ['integer', 'string'] : type === '' ? [] : [type];
    const only = this.#types.length === 1 ? type : '';
    this.#format = rules.ofObjects ? formatOf(only, source.format) : (source.format ?? '');
    const isNumeric = only === 'integer' || only === 'number';
    this.#numbers = {
      type: isNumeric ? only : '',
      format: isNumeric ? formatOf(only, this.#format) : '',
      source,
    };
  }

  /**
   * Checks a value. `correlation`: the old value of an update; errors of unchanged parts are
   * dropped.
   */
  check(
    value: unknown,
    run: ValidationRun,
    errors: ValueErrors,
    correlation?: Correlation,
  ): number {
    if (!run.spend(1)) return 0;
    if (value === null || value === undefined) {
      const passed = this.#checkType(null, run, errors);
      this.#checkEnum(null, run, errors);
      return passed;
    }
    this.#parts ??= compileParts(this.#source, this.#format, this.#rules);
    const parts = this.#parts;
    let passed =
      this.#types.length > 0 || this.#format !== '' ? this.#checkType(value, run, errors) + 1 : 0;
    passed += this.#checkJunctors(parts, value, run, errors) + 2;
    if (typeof value === 'string') passed += this.#checkString(parts, value, run, errors);
    else if (typeof value === 'number' || typeof value === 'bigint') {
      passed += 2;
      validateNumber(
        this.#numbers,
        typeof value === 'bigint' ? nearestInt64(value) : value,
        run,
        errors,
      );
    } else if (Array.isArray(value))
      passed += this.#checkList(parts, value, run, errors, correlation) + 2;
    this.#checkEnum(value, run, errors);
    passed++;
    if (isObject(value)) passed += this.#checkObject(parts, value, run, errors, correlation) + 1;
    return passed + 1;
  }

  /** Checks a part with an old value: its errors are ignored if it is unchanged. */
  checkUpdated(
    value: unknown,
    run: ValidationRun,
    errors: ValueErrors,
    correlation: Correlation,
  ): number {
    const own = new ValueErrors();
    const passed = this.check(value, run, own, correlation);
    if (!own.isValid && !correlation.isEqual) errors.addAll(own);
    return passed;
  }

  #checkType(value: unknown, run: ValidationRun, errors: ValueErrors): 0 | 1 {
    const types = this.#types;
    const format = this.#format;
    if (value === null) {
      if (types.length === 0 || this.#source.nullable === true) return 1;
      errors.add(wrongType(run.path, types.join(','), 'null', '"null"'));
      return 0;
    }
    const type = typeOfValue(value);
    const allowsNumbers = types.includes('integer') || types.includes('number');
    const isAllowed =
      types.includes(type) ||
      (type === 'number' && types.includes('integer') && passesForInteger(value as number)) ||
      (type === 'integer' && types.includes('number'));
    if (format !== '' && type !== 'string' && type !== 'array' && !isAllowed) {
      const givenFormat = type === 'integer' ? 'int64' : type === 'number' ? 'float64' : '';
      if (givenFormat !== format) {
        errors.add(wrongType(run.path, format, givenFormat, quote(givenFormat)));
        return 0;
      }
    }
    // A text of some format. Because of a bug in upstream, a list passes, too.
    if (format !== '' && !allowsNumbers && (type === 'string' || type === 'array')) return 1;
    if (isAllowed) return 1;
    errors.add(wrongType(run.path, types.join(','), type, quote(type)));
    return 0;
  }

  #checkEnum(value: unknown, run: ValidationRun, errors: ValueErrors): void {
    const values = this.#source.enum ?? [];
    if (values.length === 0 || values.some((allowed) => isEnumValue(value, allowed))) return;
    const shown = values.map((allowed) =>
      typeof allowed === 'string' ? allowed : marshalJson(allowed),
    );
    const message = `${run.path} in body should be one of [${shown.join(' ')}]`;
    errors.add(errorAt(run.path, message, (at) => field.notSupported(at, value, shown)));
  }

  #checkString(
    parts: CompiledParts,
    text: string,
    run: ValidationRun,
    errors: ValueErrors,
  ): number {
    const problem = this.#lengthProblem(text, run) ?? this.#patternProblem(parts, text, run);
    if (problem !== undefined) errors.add(problem);
    if (parts.format === undefined) return 1;
    if (!parts.format(text)) errors.add(wrongType(run.path, this.#format, text, quote(text)));
    return 2;
  }

  #lengthProblem(text: string, run: ValidationRun): ValueError | undefined {
    const { minLength, maxLength } = this.#source;
    if (!isNumber(minLength) && !isNumber(maxLength)) return undefined;
    const length = lengthOf(text);
    if (isNumber(maxLength) && length > maxLength) {
      const name = run.path;
      const message = `${name} in body should be at most ${maxLength} chars long`;
      return errorAt(name, message, (at) => field.tooLong(at, '', maxLength));
    }
    if (!isNumber(minLength) || length >= minLength) return undefined;
    const name = run.path;
    return invalidValue(name, text, `${name} in body should be at least ${minLength} chars long`);
  }

  #patternProblem(parts: CompiledParts, text: string, run: ValidationRun): ValueError | undefined {
    const pattern = parts.pattern;
    if (pattern === undefined || !run.spend(text.length / CHARACTERS_PER_STEP)) return undefined;
    if (typeof pattern !== 'string' && pattern.test(text)) return undefined;
    const source = this.#source.pattern!;
    const name = run.path;
    if (typeof pattern === 'string') {
      return invalidValue(
        name,
        text,
        `${name} in body should match '${source}, but pattern is invalid: ${pattern}'`,
      );
    }
    return invalidValue(name, text, `${name} in body should match '${source}'`);
  }

  #checkList(
    parts: CompiledParts,
    list: readonly unknown[],
    run: ValidationRun,
    errors: ValueErrors,
    correlation: Correlation | undefined,
  ): number {
    let passed = 0;
    const { items } = parts;
    if (items !== undefined) {
      for (let i = 0; i < list.length; i++) {
        if (run.isExhausted || errors.isFull) return passed;
        run.item(i);
        passed += checkPart(items, list[i], run, errors, correlation?.item(i));
        run.pop();
      }
    }
    this.#checkLength(list, run, errors);
    return passed;
  }

  #checkLength(list: readonly unknown[], run: ValidationRun, errors: ValueErrors): void {
    const { minItems, maxItems, uniqueItems } = this.#source;
    if (!isNumber(minItems) && !isNumber(maxItems) && uniqueItems !== true) return;
    if (isNumber(minItems) && list.length < minItems) {
      errors.add(
        invalidValue(
          run.path,
          list.length,
          `${run.path} in body should have at least ${minItems} items`,
        ),
      );
    }
    if (isNumber(maxItems) && list.length > maxItems) {
      const message = `${run.path} in body should have at most ${maxItems} items`;
      errors.add(errorAt(run.path, message, (at) => field.tooMany(at, list.length, maxItems)));
    }
    if (uniqueItems === true && new Set(list.map(stableStringify)).size < list.length) {
      errors.add(invalidValue(run.path, '', `${run.path} in body shouldn't contain duplicates`));
    }
  }

  #checkObject(
    parts: CompiledParts,
    object: Readonly<Record<string, unknown>>,
    run: ValidationRun,
    errors: ValueErrors,
    correlation: Correlation | undefined,
  ): number {
    let passed = 0;
    const names = Object.keys(object);
    this.#checkSize(names.length, run, errors);
    for (const name of names) {
      if (run.isExhausted || errors.isFull) return passed;
      const property = parts.properties.get(name);
      if (
        property !== undefined ||
        (isSchema(this.#source.additionalProperties) && parts.values !== undefined)
      ) {
        run.field(name);
        // Conversion rewrites these two fields, so an old value is meaningless.
        const isType = run.depth === 1 && (name === 'kind' || name === 'apiVersion');
        const old = isType ? undefined : correlation?.field(name);
        passed += checkPart((property ?? parts.values)!, object[name], run, errors, old);
        run.pop();
      } else if (this.#source.additionalProperties === false) {
        errors.add(
          invalidValue(run.path, name, `${run.path}.${name} in body is a forbidden property`),
        );
      }
    }
    for (const name of this.#source.required ?? []) {
      if (Object.hasOwn(object, name) && object[name] !== undefined) continue;
      const missing = run.depth === 0 ? name : `${run.path}.${name}`;
      errors.add(errorAt(missing, `${missing} in body is required`, (at) => field.required(at)));
    }
    return passed;
  }

  #checkSize(size: number, run: ValidationRun, errors: ValueErrors): void {
    const { minProperties, maxProperties } = this.#source;
    if (!isNumber(minProperties) && !isNumber(maxProperties)) return;
    if (isNumber(minProperties) && size < minProperties) {
      errors.add(
        invalidValue(
          run.path,
          size,
          `${run.path} in body should have at least ${minProperties} properties`,
        ),
      );
    }
    if (isNumber(maxProperties) && size > maxProperties) {
      const message = `${run.path} in body should have at most ${maxProperties} properties`;
      errors.add(errorAt(run.path, message, (at) => field.tooMany(at, size, maxProperties)));
    }
  }

  #checkJunctors(
    parts: CompiledParts,
    value: unknown,
    run: ValidationRun,
    errors: ValueErrors,
  ): number {
    if (!parts.hasJunctors) return 0;
    return (
      checkAnyOf(parts.anyOf, value, run, errors) +
      checkOneOf(parts.oneOf, value, run, errors) +
      checkAllOf(parts.allOf, value, run, errors) +
      checkNot(parts.not, value, run, errors)
    );
  }
}

function checkPart(
  validator: ValueValidator,
  value: unknown,
  run: ValidationRun,
  errors: ValueErrors,
  correlation: Correlation | undefined,
): number {
  return correlation === undefined
    ? validator.check(value, run, errors)
    : validator.checkUpdated(value, run, errors, correlation);
}

interface Attempt {
  readonly errors: ValueErrors;
  readonly passed: number;
}

function attempt(validator: ValueValidator, value: unknown, run: ValidationRun): Attempt {
  const errors = new ValueErrors();
  return { passed: validator.check(value, run, errors), errors };
}

/**
 * Checks anyOf: at least one alternative must hold. The errors of the alternative that got farthest
 * are reported.
 */
function checkAnyOf(
  validators: readonly ValueValidator[],
  value: unknown,
  run: ValidationRun,
  errors: ValueErrors,
): number {
  let best: Attempt | undefined;
  for (const validator of validators) {
    const tried = attempt(validator, value, run);
    if (tried.errors.isValid) return tried.passed;
    if (best === undefined || tried.passed > best.passed) best = tried;
  }
  if (best === undefined) return 0;
  errors.add(schemaError(`${quote(run.path)} must validate at least one schema (anyOf)`));
  errors.addAll(best.errors);
  return best.passed;
}

/** Checks oneOf: exactly one alternative must hold. */
function checkOneOf(
  validators: readonly ValueValidator[],
  value: unknown,
  run: ValidationRun,
  errors: ValueErrors,
): number {
  if (validators.length === 0) return 0;
  const tried = validators.map((validator) => attempt(validator, value, run));
  const valid = tried.filter((one) => one.errors.isValid);
  if (valid.length === 1) return valid[0]!.passed;
  const summary =
    valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
  errors.add(
    schemaError(`${quote(run.path)} must validate one and only one schema (oneOf). ${summary}`),
  );
  if (valid.length > 0) return 0;
  const best = tried.reduce((most, one) => (one.passed > most.passed ? one : most));
  errors.addAll(best.errors);
  return best.passed;
}

function checkAllOf(
  validators: readonly ValueValidator[],
  value: unknown,
  run: ValidationRun,
  errors: ValueErrors,
): number {
  if (validators.length === 0) return 0;
  let passed = 0;
  let valid = 0;
  for (const validator of validators) {
    const tried = attempt(validator, value, run);
    if (tried.errors.isValid) valid++;
    errors.addAll(tried.errors);
    passed += tried.passed;
  }
  if (valid < validators.length) {
    errors.add(
      schemaError(
        `${quote(run.path)} must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`,
      ),
    );
  }
  return passed;
}

function checkNot(
  validator: ValueValidator | undefined,
  value: unknown,
  run: ValidationRun,
  errors: ValueErrors,
): number {
  if (validator === undefined || !attempt(validator, value, run).errors.isValid) return 0;
  errors.add(schemaError(`${quote(run.path)} must not validate the schema (not)`));
  return 0;
}

interface CompiledParts {
  readonly properties: ReadonlyMap<string, ValueValidator>;
  /** The validator of fields that are not properties. */
  readonly values: ValueValidator | undefined;
  readonly items: ValueValidator | undefined;
  readonly hasJunctors: boolean;
  readonly allOf: readonly ValueValidator[];
  readonly anyOf: readonly ValueValidator[];
  readonly oneOf: readonly ValueValidator[];
  readonly not: ValueValidator | undefined;
  /** A text is the reason why the pattern cannot be compiled. */
  readonly pattern: RE2JS | string | undefined;
  readonly format: ((text: string) => boolean) | undefined;
}

function compileParts(source: JSONSchemaProps, format: string, rules: ValueRules): CompiledParts {
  const compile = (part: JSONSchemaProps): ValueValidator => new ValueValidator(part, rules);
  const compileOptional = (part: unknown): ValueValidator | undefined => {
    return isSchema(part as JSONSchemaProps) ? compile(part as JSONSchemaProps) : undefined;
  };
  const { allOf, anyOf, oneOf, not, pattern } = source;
  return {
    properties: new Map(
      Object.entries(source.properties ?? {}).map(([name, property]) => [name, compile(property)]),
    ),
    values: compileOptional(source.additionalProperties),
    items: compileOptional(source.items),
    hasJunctors: [...(allOf ?? []), ...(anyOf ?? []), ...(oneOf ?? [])].length > 0 || isSchema(not),
    allOf: (allOf ?? []).map(compile),
    anyOf: (anyOf ?? []).map(compile),
    oneOf: (oneOf ?? []).map(compile),
    not: compileOptional(not),
    pattern: pattern === undefined || pattern === '' ? undefined : compilePattern(pattern),
    format: format === '' ? undefined : checkOfFormat(format),
  };
}

/**
 * Compares a value with an allowed one. Upstream converts the value to the type of the allowed
 * value first.
 */
function isEnumValue(value: unknown, allowed: unknown): boolean {
  if (value === null || allowed === null) return false;
  if (typeof value === 'number' && typeof allowed === 'number') {
    return value === allowed || (isInt64(allowed) && Math.trunc(value) === allowed);
  }
  return deepEqual(value, allowed);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isPlainObject(value);
const isNumber = (value: number | null | undefined): value is number => typeof value === 'number';

/** Returns the length in characters (code points). */
function lengthOf(text: string): number {
  let length = text.length;
  for (let i = 0; i + 1 < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    if (next >= 0xdc00 && next <= 0xdfff) {
      length--;
      i++;
    }
  }
  return length;
}
