// Doubles as text.

/**
 * Formats as Go's %g does, with the digits needed to read the same number again: '1e+06',
 * '123456.5'.
 */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 6) return expandExponent(mantissa, power);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Returns a number without exponent: '1.25' and 3 are 1250. */
export function expandExponent(mantissa: string, power: number): string {
  const negative = mantissa.startsWith('-') ? '-' : '';
  const [whole, fraction = ''] = mantissa.replace('-', '').split('.') as [string, string?];
  const digits = whole + fraction;
  if (power < 0) return `${negative}0.${'0'.repeat(-power - 1)}${digits}`;
  if (digits.length <= power + 1) return negative + digits.padEnd(power + 1, '0');
  return `${negative}${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`;
}
