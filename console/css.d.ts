// What TypeScript knows of a style sheet: of a module its class names, of another nothing.
declare module '*.module.css' {
  const classes: Readonly<Record<string, string>>
  export default classes
}
declare module '*.css'
