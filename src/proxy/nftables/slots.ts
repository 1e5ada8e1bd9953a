// Which number a target has among those of its port. Numbers must be dense, since a random one
// below their count is drawn; a target keeps its number when others come and go, so that a change
// of one endpoint changes one or two elements.

/**
 * Returns the targets in the order of their numbers: like `previous`, without those that are gone
 * and with the new ones.
 */
export function assignSlots(
  previous: readonly string[],
  targets: readonly string[],
): readonly string[] {
  const wanted = new Set(targets);
  const present = new Set(previous);
  const added = [...wanted].filter((target) => !present.has(target));
  const slots: (string | undefined)[] = previous.map((target) =>
    wanted.has(target) ? target : added.shift(),
  );
  slots.push(...added);
  // The last ones move to where nothing is left.
  for (let hole = slots.indexOf(undefined); hole !== -1; hole = slots.indexOf(undefined, hole)) {
    const last = slots.pop();
    if (last === undefined) continue;
    slots[hole] = last;
  }
  return slots as string[];
}
