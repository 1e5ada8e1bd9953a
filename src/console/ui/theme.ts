// The look of the page: colours, sizes and defaults of Mantine's components.

import { createTheme, Drawer, type MantineColorsTuple, Menu, Modal } from '@mantine/core';

/** Deep sea green. Shade 7 on white, and shade 3 on black, have a contrast above 4.5. */
const sea: MantineColorsTuple = [
  '#e6f6f7',
  '#cde9ec',
  '#9bd3d9',
  '#66bcc5',
  '#3ea9b4',
  '#2598a4',
  '#14808c',
  '#0f6674',
  '#0b5460',
  '#07414b',
];

/** The header of a dialog is no landmark of the page. */
const PLAIN_HEADER = { header: { role: 'presentation' } };

export const theme = createTheme({
  colors: { sea },
  primaryColor: 'sea',
  primaryShade: { light: 7, dark: 6 },
  autoContrast: true,
  luminanceThreshold: 0.32,
  defaultRadius: 'sm',
  fontFamily:
    'Inter, "Segoe UI", -apple-system, BlinkMacSystemFont, Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "JetBrains Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.84rem', md: '0.92rem', lg: '1.05rem', xl: '1.25rem' },
  headings: { fontWeight: '600' },
  components: {
    // Menus are part of the landmark that they belong to, and have items alone.
    Menu: Menu.extend({
      defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false },
    }),
    Modal: Modal.extend({ defaultProps: { attributes: PLAIN_HEADER } }),
    Drawer: Drawer.extend({ defaultProps: { attributes: PLAIN_HEADER } }),
  },
});
