def run(seed):
    raise KeyError('gone')
