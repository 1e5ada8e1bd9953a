// Warnings about finalizers that a write adds. Unlike those of built-in kinds, finalizers of custom
// objects may have any name.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { isQualifiedName } from '#machinery/validation/validation.ts';
import { quote } from '#machinery/text/go-format.ts';

const STANDARD: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);
const AVOID = 'to avoid accidental conflicts with other finalizer writers';

/** Returns the warnings about the finalizers of `object` that `old` does not have. */
export function finalizerWarnings(object: KubeObject, old?: KubeObject): readonly string[] {
  const before = new Set(old?.metadata.finalizers ?? []);
  const added = [...new Set(object.metadata.finalizers ?? [])].filter((name) => !before.has(name));
  return added
    .toSorted()
    .flatMap((name) =>
      problemsOf(name).map((why) => `metadata.finalizers: ${quote(name)}: ${why}`),
    );
}

function problemsOf(name: string): readonly string[] {
  const problems = [...isQualifiedName(name)];
  if (!name.includes('/') && !STANDARD.has(name)) {
    problems.push(
      name.includes('.')
        ? `prefer a domain-qualified finalizer name including a path (/) ${AVOID}`
        : `prefer a domain-qualified finalizer name ${AVOID}`,
    );
  }
  return problems;
}
