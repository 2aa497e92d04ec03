// The first script of the page, and small: the login and the first requests are under way while the rest of the code is read.
import { askEarly } from './early.ts'

askEarly(location.pathname)
void import('./main.tsx').then(({ start }) => start())
