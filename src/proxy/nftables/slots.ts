// Assigns slot numbers to the targets of a port. The numbers are dense, since a random number below
// their count is drawn; a target keeps its number when others are added or removed, so that a
// change of one endpoint changes one or two elements.

/** Returns the targets in slot order: `previous` without removed targets, and with new ones. */
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
  // The last targets fill the empty slots.
  for (let hole = slots.indexOf(undefined); hole !== -1; hole = slots.indexOf(undefined, hole)) {
    const last = slots.pop();
    if (last === undefined) continue;
    slots[hole] = last;
  }
  return slots as string[];
}
