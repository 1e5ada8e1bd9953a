// Eviction thresholds: parsed from the configuration, with upstream's rules and errors.

import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import {
  newQuantity,
  parseQuantity,
  QuantityError,
  type Quantity,
} from '#machinery/text/quantity.ts';
import { isSignal, type Signal } from './signals.ts';

/** An amount, or a share of the capacity. */
export type ThresholdValue =
  | { readonly quantity: Quantity }
  /** A number from 0 to 1. */
  | { readonly share: number };

/** Pods are evicted while less than `value` is available. Compared by identity. */
export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** The time for which the threshold must be met; 0 for a hard threshold. */
  readonly graceMs: number;
  /** How much more than `value` must be available before the threshold is no longer met. */
  readonly minReclaim?: ThresholdValue;
}

type Statements = Readonly<Record<string, string>>;

/** The fields of a KubeletConfiguration from which thresholds are made. */
export interface ThresholdStatements {
  readonly hard: Statements;
  readonly soft: Statements;
  readonly softGracePeriod: Statements;
  readonly minimumReclaim: Statements;
  /** Whether the pods together are limited to the allocatable resources. */
  readonly enforceAllocatable: boolean;
}

/** Upstream's hard thresholds on Linux. */
export const DEFAULT_HARD: Statements = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

export class ThresholdError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ThresholdError';
  }
}

/** Returns the thresholds. Throws ThresholdError for the first statement that is invalid. */
export function parseThresholds(statements: ThresholdStatements): readonly Threshold[] {
  const grace = parseGracePeriods(statements.softGracePeriod);
  const reclaim = parseMinimumReclaims(statements.minimumReclaim);
  const thresholds: Threshold[] = [];
  const add = (signal: Signal, value: ThresholdValue | undefined, graceMs: number): void => {
    if (value === undefined) return;
    const minReclaim = reclaim.get(signal);
    thresholds.push({ signal, value, graceMs, ...(minReclaim !== undefined && { minReclaim }) });
  };
  for (const [name, text] of Object.entries(statements.hard))
    add(signalNamed(name), parseThresholdValue(name, text), 0);
  for (const [name, text] of Object.entries(statements.soft)) {
    const signal = signalNamed(name);
    const value = parseThresholdValue(name, text);
    const graceMs = grace.get(signal);
    if (value !== undefined && graceMs === undefined)
      throw new ThresholdError(
        `grace period must be specified for the soft eviction threshold ${name}`,
      );
    add(signal, value, graceMs ?? 0);
  }
  const memory = thresholds.filter(isHard).find(({ signal }) => signal === 'memory.available');
  if (statements.enforceAllocatable && memory !== undefined)
    thresholds.push({ ...memory, signal: 'allocatableMemory.available' });
  return thresholds;
}

/** Returns the hard thresholds of the configuration, with the defaults for signals without one. */
export function mergeHardDefaults(hard: Statements): Statements {
  return { ...DEFAULT_HARD, ...hard };
}

export function isHard({ graceMs }: Threshold): boolean {
  return graceMs === 0;
}

/** Where images and the writable layers of containers are, relative to the node's file system. */
export interface DiskLayout {
  /** Images are on a file system of their own. */
  readonly dedicatedImageFs: boolean;
  /** Writable layers are on the node's file system, and images are not. */
  readonly splitContainerFs: boolean;
}

/**
 * Returns the thresholds with those of containerfs derived: it is the node's file system, or that
 * of the images. Thresholds that the configuration has for containerfs are dropped, as upstream.
 */
export function withContainerFs(
  thresholds: readonly Threshold[],
  { dedicatedImageFs, splitContainerFs }: DiskLayout,
): readonly Threshold[] {
  const source = dedicatedImageFs && !splitContainerFs ? 'imagefs.' : 'nodefs.';
  const derived = thresholds
    .filter(({ signal }) => signal.startsWith(source))
    .map((threshold) => ({
      ...threshold,
      signal: threshold.signal.replace(source, 'containerfs.') as Signal,
    }));
  return [...thresholds.filter(({ signal }) => !signal.startsWith('containerfs.')), ...derived];
}

/** Returns the amount of a value for a resource of this capacity. */
export function thresholdQuantity(value: ThresholdValue, capacity: number): Quantity {
  if ('quantity' in value) return value.quantity;
  return newQuantity(Math.trunc(capacity * value.share), 'BinarySI');
}

function signalNamed(name: string): Signal {
  if (isSignal(name)) return name;
  throw new ThresholdError(`unsupported eviction signal ${name}`);
}

/** Returns undefined for a threshold that is switched off. */
function parseThresholdValue(signal: string, text: string): ThresholdValue | undefined {
  if (text.endsWith('%')) {
    if (text === '0%' || text === '100%') return undefined;
    const share = parseShare(text);
    if (share < 0)
      throw new ThresholdError(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (share > 1)
      throw new ThresholdError(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return { share };
  }
  const quantity = parseAmount(text);
  if (quantity.sign() <= 0)
    throw new ThresholdError(
      `eviction threshold ${signal} must be positive: ${quantity.toString()}`,
    );
  return { quantity };
}

function parseMinimumReclaims(statements: Statements): ReadonlyMap<Signal, ThresholdValue> {
  const values = new Map<Signal, ThresholdValue>();
  for (const [name, text] of Object.entries(statements)) {
    const signal = signalNamed(name);
    if (text.endsWith('%')) {
      const share = parseShare(text);
      if (share <= 0)
        throw new ThresholdError(
          `eviction percentage minimum reclaim ${name} must be positive: ${text}`,
        );
      values.set(signal, { share });
      continue;
    }
    const quantity = parseAmount(text);
    if (quantity.sign() < 0)
      throw new ThresholdError(`negative eviction minimum reclaim specified for ${name}`);
    values.set(signal, { quantity });
  }
  return values;
}

function parseGracePeriods(statements: Statements): ReadonlyMap<Signal, number> {
  const periods = new Map<Signal, number>();
  for (const [name, text] of Object.entries(statements)) {
    const signal = signalNamed(name);
    let ms: number;
    try {
      ms = parseDuration(text);
    } catch (error) {
      if (error instanceof DurationError) throw new ThresholdError(error.message);
      throw error;
    }
    if (ms < 0)
      throw new ThresholdError(
        `invalid eviction grace period specified: ${text}, must be a positive value`,
      );
    periods.set(signal, ms);
  }
  return periods;
}

/**
 * Parses a percentage with the precision of a 32 bit number, as upstream does: the bytes in
 * messages depend on it.
 */
function parseShare(text: string): number {
  const digits = text.replace(/%+$/, '');
  const percent = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits)
    ? Number(digits)
    : Number.NaN;
  if (!Number.isFinite(percent))
    throw new ThresholdError(
      `strconv.ParseFloat: parsing ${JSON.stringify(digits)}: invalid syntax`,
    );
  return Math.fround(Math.fround(percent) / 100);
}

function parseAmount(text: string): Quantity {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) throw new ThresholdError(error.message);
    throw error;
  }
}
