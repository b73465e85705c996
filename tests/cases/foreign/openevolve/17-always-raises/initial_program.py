raise ArithmeticError('at import')
